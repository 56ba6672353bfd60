"""The pytest plugin of ntapi. It is no part of the package, because pytest loads it in every run:
only its fixtures import ntapi.
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Union

    from ntapi.testing import ManualClock, Recorder, Server, Stub
    from ntapi.testing.recorder import RecordMode

OPTION = "--record-mode"
HAR_OPTION = "--har"
MODES: tuple[RecordMode, ...] = ("none", "once", "new_episodes", "all")
FORMAT = "ntapi_recording_format"
FORMATS = ("json", "yaml")

_end = pytest.StashKey[str]()
"""How a test has ended: "failed" if it, its setup or one of its subtests has failed, else
"skipped", or "" if it has passed.
"""


# The option. pytest-recording has one of the same name and meaning, and a conftest file may have
# one, too. pytest stops with an error if the same option is added twice.


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Iterator[None]:
    """Adds the options when all plugins and conftest files have added theirs."""
    for option in (OPTION, HAR_OPTION):
        if not _is_taken(parser, option):
            _forget_value(option, early_config.known_args_namespace.file_or_dir, args)
    yield
    group = parser.getgroup("ntapi")
    if not _is_taken(parser, HAR_OPTION):
        group.addoption(
            HAR_OPTION,
            metavar="DIR",
            help="Write what ntapi clients send and receive in each test to a HAR file in this "
            "folder.",
        )
    if not _is_taken(parser, OPTION):
        group.addoption(
            OPTION,
            choices=MODES,
            default="none",
            help="What ntapi_recorder does: none replays only (the default), once records if there "
            "is no file, new_episodes adds what is not in the file, all records anew.",
        )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        FORMAT,
        "The format of ntapi_recorder's files: json (the default), or yaml for cassettes of vcrpy.",
        default="json",
    )


def _is_taken(parser: pytest.Parser, option: str) -> bool:
    try:
        _, unknown = parser.parse_known_and_unknown_args([f"{option}=none"])
    except pytest.UsageError:
        # The option is known, but has no such value.
        return True
    return not unknown


def _forget_value(option: str, paths: list[str], args: list[str]) -> None:
    """While pytest does not know the option, it takes the second word of `--record-mode once` for a
    path. Then it would not look for conftest files in `testpaths`.
    """
    for name, value in zip(args, args[1:]):
        if name == option and value in paths:
            paths.remove(value)


def _mode(config: pytest.Config) -> RecordMode:
    given = config.getoption(OPTION, None) or "none"
    if given == "rewrite":
        # pytest-recording's name; there, "all" keeps exchanges that were not made again.
        return "all"
    for mode in MODES:
        if mode == given:
            return mode
    raise pytest.UsageError(f"{OPTION}={given} is not one of {', '.join(MODES)}")


# Tests.


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "ntapi_recording(file): the file that ntapi_recorder uses, in the folder recordings.",
    )
    config.addinivalue_line(
        "markers",
        "ntapi_server(tls=..., client_certificates=..., http2=...): how ntapi_server is made.",
    )
    folder = config.getoption(HAR_OPTION, None)
    if isinstance(folder, str) and folder:
        config.pluginmanager.register(_TrafficOfTests(config.invocation_params.dir / folder))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Called after the setup, after each subtest, after the test and after the teardown."""
    if call.when == "teardown":
        return
    end = ""
    if call.excinfo is not None:
        is_skip = isinstance(call.excinfo.value, (pytest.skip.Exception, pytest.xfail.Exception))
        end = "skipped" if is_skip else "failed"
    if call.when == "setup" or item.stash.get(_end, "") != "failed":
        item.stash[_end] = end


def _has_passed(request: pytest.FixtureRequest) -> bool:
    return not request.node.stash.get(_end, "")


@pytest.fixture
def ntapi_stub(request: pytest.FixtureRequest) -> Iterator[Stub]:
    """An ntapi.testing.Stub. At its end, a test that has passed fails if a rule was not used, or if
    a request had no rule.
    """
    from ntapi.testing import Stub

    stub = Stub()
    yield stub
    _verify(stub, request)


@pytest.fixture
def ntapi_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """An ntapi.testing.Server that has started, with a stub of its own. At its end, a test that has
    passed may fail as with ntapi_stub. @pytest.mark.ntapi_server(tls=True) passes arguments on.
    """
    from ntapi.testing import Server

    marker = request.node.get_closest_marker("ntapi_server")
    server = Server(**marker.kwargs if marker else {}).start()
    try:
        yield server
    finally:
        server.close()
    _verify(server, request)


def _verify(double: Union[Server, Stub], request: pytest.FixtureRequest) -> None:
    """Fails a test that has passed if expectations were not met."""
    problems = ""
    try:
        double.verify()
    except AssertionError as error:
        problems = str(error)
    if problems and _has_passed(request):
        pytest.fail(problems, pytrace=False)


@pytest.fixture
def ntapi_clock() -> ManualClock:
    """An ntapi.testing.ManualClock, which stands still until the test advances it."""
    from ntapi.testing import ManualClock

    return ManualClock()


@pytest.fixture
def ntapi_recording_secrets() -> Iterable[str]:
    """Names of headers, pairs, parts and JSON members that ntapi_recorder does not write. Override
    it in a conftest file, a module or a class.
    """
    return ()


@pytest.fixture
def ntapi_recorder(
    request: pytest.FixtureRequest, ntapi_recording_secrets: Iterable[str]
) -> Iterator[Recorder]:
    """An ntapi.testing.Recorder. It replays recordings/<module>/<test>.json beside the test, or
    records it: see --record-mode. Nothing is written if the test fails. With
    `ntapi_recording_format = yaml` in pytest's configuration, the file is a cassette of vcrpy.
    """
    from ntapi.testing import Recorder
    from ntapi.testing.files import save

    path = _recording(request)
    recorder = Recorder(path, secrets=ntapi_recording_secrets, mode=_mode(request.config))
    yield recorder
    if _has_passed(request):
        save(recorder, path)


class _TrafficOfTests:
    """What `--har` adds to every test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @pytest.fixture(autouse=True)
    def _ntapi_traffic(
        self, request: pytest.FixtureRequest, ntapi_recording_secrets: Iterable[str]
    ) -> Iterator[None]:
        """Records all clients, also for a test that fails."""
        from ntapi.testing import Recorder
        from ntapi.testing.files import safe

        module, *names = request.node.nodeid.split("::")
        parts = [safe(part) for part in module.split("/") if part not in ("", ".", "..")]
        path = self.folder.joinpath(*parts[:-1], safe(parts[-1].rpartition(".")[0] or parts[-1]))
        path /= f"{safe('.'.join(names) or 'test')}.har"
        recorder = Recorder(path, secrets=ntapi_recording_secrets, all_clients=True)
        yield
        recorder.all_clients = False
        if recorder.count:
            path.parent.mkdir(parents=True, exist_ok=True)
            recorder.save()


def _recording(request: pytest.FixtureRequest) -> Path:
    from ntapi.testing.files import FOLDER, recording_of_test

    marker = request.node.get_closest_marker("ntapi_recording")
    if marker is None:
        chain = request.node.listchain()
        names = [each.name for each in chain if isinstance(each, (pytest.Class, pytest.Item))]
        return recording_of_test(request.path, names, f".{_format(request.config)}")
    if len(marker.args) != 1 or marker.kwargs:
        raise pytest.UsageError('write @pytest.mark.ntapi_recording("file.json"), with one file')
    file: Path = request.path.parent / FOLDER / marker.args[0]
    return file


def _format(config: pytest.Config) -> str:
    given: str = config.getini(FORMAT)
    if given not in FORMATS:
        raise pytest.UsageError(f"{FORMAT} is json or yaml, not {given!r}")
    return given
