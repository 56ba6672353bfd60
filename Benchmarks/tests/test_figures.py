"""Medians, ratios, targets and tables, from figures made up here."""

import pytest
from bench import is_chosen
from blocking import slowest_percent
from kit import table
from kit.clients import CLIENTS
from kit.measuring import ClientFailed, figures
from kit.results import Results
from kit.spreads import ratios, spread
from kit.targets import Target, all_targets, at_most, growth, held, times_better
from kit.workloads import all_workloads


def made_up(ours: list[float], theirs: list[float]) -> Results:
    """Rounds of our C client and of libcurl."""
    results = Results()
    for value in ours:
        results.add("parsed-64", "ntapi_callback", {"cpu": value})
    for value in theirs:
        results.add("parsed-64", "libcurl_multi", {"cpu": value})
    return results


def test_spread_is_median_least_and_most() -> None:
    found = spread([3.0, 1.0, 10.0])
    assert (found.median, found.least, found.most) == (3.0, 1.0, 10.0)


def test_ratios_are_taken_within_rounds() -> None:
    # The second round was slow for both: the ratio of the medians would be 1.
    found = ratios([1.0, 20.0, 2.0], [2.0, 40.0, 1.0])
    assert found is not None
    assert (found.median, found.least, found.most) == (0.5, 0.5, 2.0)


def test_ratio_without_a_common_round_is_none() -> None:
    assert ratios([1.0], []) is None
    assert ratios([1.0], [0.0]) is None


def test_ratio_ends_with_the_shorter_list() -> None:
    found = ratios([1.0, 9.0], [1.0])
    assert found is not None
    assert found.most == 1.0


@pytest.mark.parametrize(("ours", "is_reached"), [(0.69, True), (0.70, True), (0.71, False)])
def test_at_most(ours: float, is_reached: bool) -> None:
    target = at_most("C", 0.70, "parsed-64", "ntapi_callback", "libcurl_multi")
    value = target.figure(made_up([ours], [1.0]))
    assert value is not None
    assert target.is_reached(value) is is_reached


@pytest.mark.parametrize(("theirs", "is_reached"), [(2.4, False), (2.5, True), (3.0, True)])
def test_times_better(theirs: float, is_reached: bool) -> None:
    target = times_better("C", 2.5, "parsed-64", "ntapi_callback", "libcurl_multi")
    value = target.figure(made_up([1.0], [theirs]))
    assert value is not None
    assert target.is_reached(value) is is_reached


def test_growth_takes_the_worst_round() -> None:
    results = Results()
    for kilobytes in (100, 4096):
        results.add("upload-file", "ntapi_files", {"growth_kb": kilobytes})
    assert growth("C", "upload-file", "ntapi_files").figure(results) == 4.0


def test_held_is_counted_from_libcurl_at_rest() -> None:
    results = Results()
    results.add("hold", "ntapi_hold", {"held_rss_kb": 65_000, "idle_kb": 20_000, "requests": 5000})
    results.add("hold", "libcurl_hold", {"held_rss_kb": 150_000, "idle_kb": 10_000})
    assert held(results) == 11.0


def test_targets_name_workloads_and_clients_that_exist() -> None:
    """Each target can be computed when all was measured."""
    results = Results()
    for workload in all_workloads():
        for client in workload.clients:
            names = (
                "requests",
                "cpu",
                "cpu_ms",
                "wall_ms",
                "growth_kb",
                "held_rss_kb",
                "idle_kb",
                "wakes",
                "turns",
                "late_ms",
            )
            results.add(workload.name, client, dict.fromkeys(names, 1.0))
    assert [target.what for target in all_targets() if target.figure(results) is None] == []


def test_workloads_are_named_once_and_name_known_clients() -> None:
    workloads = all_workloads()
    names = [workload.name for workload in workloads]
    assert len(set(names)) == len(names)
    for workload in workloads:
        assert set(workload.clients) <= set(CLIENTS), workload.name


def test_a_report_that_lost_requests_is_a_failure() -> None:
    report = {"requests": 10.0, "ok": 9.0, "cpu_seconds": 1.0, "idle_rss_kb": 1, "max_rss_kb": 1}
    with pytest.raises(ClientFailed, match=r"9\.0 of 10"):
        figures(report, 10, 1.0)


def test_figures_of_a_report() -> None:
    report = {
        "requests": 10,
        "ok": 10,
        "cpu_seconds": 0.001,
        "idle_rss_kb": 1000,
        "max_rss_kb": 3000,
        "held_rss_kb": 2000,
    }
    found = figures(report, 10, 0.5)
    assert found["cpu"] == pytest.approx(100)
    assert found["wall_ms"] == 500
    assert found["growth_kb"] == 2000
    assert found["held_kb"] == 100


def test_table_shows_pace_and_the_slowest_percent_of_threads() -> None:
    report = {"requests": 10, "ok": 10, "cpu_seconds": 0.001, "idle_rss_kb": 1, "max_rss_kb": 3}
    results = Results()
    timed = report | {"wall_seconds": 0.005, "late_seconds": 0.02}
    results.add("senders-8", "ntapi_sync", figures(timed, 10, 1.0))
    workload = next(found for found in all_workloads() if found.name == "senders-8")
    lines = table.workload_lines(workload, results)
    assert any(line.endswith("2,000 a second, the slowest percent 20.0 ms") for line in lines)


def test_the_slowest_percent_begins_where_99_are_faster() -> None:
    assert slowest_percent([float(number) for number in range(1000, 0, -1)]) == 991.0
    assert slowest_percent([3.0]) == 3.0


def test_the_clients_over_rust_are_peers_with_threads_and_with_asyncio() -> None:
    taking_part = {name for workload in all_workloads() for name in workload.clients}
    assert {"pyreqwest_sync", "pyreqwest_async", "primp_sync", "primp_async"} <= taking_part


def test_table_shows_ratio_and_failure() -> None:
    workload = next(found for found in all_workloads() if found.name == "parsed-64")
    results = made_up([30.0], [20.0])
    results.failures["parsed-64 aiohttp_session"] = "status 500"
    lines = table.workload_lines(workload, results)
    ours = next(line for line in lines if "NTApi in C, callback" in line)
    assert ours.split()[-4:] == ["1.50", "1.50", "..", "1.50"]
    assert any("aiohttp" in line and "status 500" in line for line in lines)


def test_target_lines_say_pass_miss_and_not_measured() -> None:
    reached = Target("reached", 2.0, lambda _: 1.0)
    missed = Target("missed", 2.0, lambda _: 1.0, is_at_least=True)
    unknown = Target("unknown", 2.0, lambda _: None)
    lines = table.target_lines([reached, missed, unknown], Results(), show_all=True)
    assert [line.split()[0] for line in lines[1:]] == ["pass", "MISS", "not"]
    assert len(table.target_lines([unknown], Results(), show_all=False)) == 1


def test_results_can_be_kept(tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "results/last.json"
    results = made_up([1.0], [2.0])
    results.failures["x y"] = "lost"
    results.save(path)
    loaded = Results.load(path)
    assert loaded.figures == results.figures
    assert loaded.failures == results.failures


def test_a_word_that_is_a_name_stands_for_that_alone() -> None:
    names = {"parsed-1", "parsed-1000", "raw-1"}
    assert [name for name in sorted(names) if is_chosen(name, "parsed-1", names)] == ["parsed-1"]
    assert [name for name in sorted(names) if is_chosen(name, "parsed", names)] == [
        "parsed-1",
        "parsed-1000",
    ]
    assert all(is_chosen(name, "", names) for name in names)
