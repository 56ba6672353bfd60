"""The plot is well-formed, and its dots are where they belong."""

from xml.etree import ElementTree

import pytest
from kit.plot import PANELS, draw, number, ticks
from kit.results import Results

SVG = "{http://www.w3.org/2000/svg}"


def results() -> Results:
    """Two rounds of some clients in two panels."""
    found = Results()
    for workload in ("parsed-1", "large-16"):
        for client, cost in (
            ("libcurl_multi", 23.0),
            ("ntapi_callback", 12.0),
            ("httpx_async", 2000.0),
        ):
            for share in (0.9, 1.1):
                found.add(workload, client, {"cpu": cost * share})
    return found


def test_plot_is_xml_and_shows_what_was_measured() -> None:
    root = ElementTree.fromstring(draw(results()))
    words = [element.text for element in root.iter(f"{SVG}text")]
    assert PANELS["parsed-1"] in words
    assert PANELS["parsed-64"] not in words
    assert words.count("NTApi in C, callback") == 2
    assert "libcurl multi in C + jansson" in words


def test_dots_lie_inside_and_in_order() -> None:
    root = ElementTree.fromstring(draw(results()))
    width, height = (float(root.get(name) or 0) for name in ("width", "height"))
    dots = [
        (float(dot.get("cx") or 0), float(dot.get("cy") or 0), dot.get("class"))
        for dot in root.iter(f"{SVG}circle")
    ]
    assert len(dots) == 6
    assert all(0 < x < width and 0 < y < height for x, y, _ in dots)
    first = dots[:3]
    assert [kind for _, _, kind in first] == ["us", "peer", "peer"]
    assert [x for x, _, _ in first] == sorted(x for x, _, _ in first)
    assert [y for _, y, _ in first] == sorted(y for _, y, _ in first)


def test_an_empty_plot_is_xml() -> None:
    ElementTree.fromstring(draw(Results()))


@pytest.mark.parametrize(
    ("least", "most", "expected"),
    [(12, 90, [10, 20, 50, 100]), (20, 50, [20, 50]), (20, 9000, [10, 100, 1000, 10000])],
)
def test_ticks_enclose_the_values(least: float, most: float, expected: list[float]) -> None:
    assert ticks(least, most) == pytest.approx(expected)


def test_numbers_have_the_digits_that_matter() -> None:
    assert [number(value) for value in (1234.5, 99.4, 9.94)] == ["1,234", "99", "9.9"]
