"""JSON values as dates, in the formats of a service or of a field."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Annotated, Any, Optional

import pytest

import ntapi
from conftest import REPOSITORY
from decoding import MOMENT, decode, refused

DATES = json.loads((REPOSITORY / "Tests" / "conformance" / "dates.json").read_text("utf-8"))


@pytest.mark.parametrize("row", DATES, ids=lambda row: repr(row["text"]))
def test_dates_are_read_as_in_the_other_languages(row: dict[str, Any]) -> None:
    options = {"dates": ntapi.DateFormat[row["format"].upper()]}
    if row["seconds"] is None:
        assert refused(datetime, row["text"], **options).endswith("expected, string found")
    else:
        found = decode(datetime, row["text"], **options)
        assert found.timestamp() == row["seconds"]
        assert found.tzinfo is timezone.utc


def test_dates_in_the_formats_of_a_service() -> None:
    formats = ntapi.DateFormat

    def days(value: Any) -> Optional[datetime]:
        return datetime.fromtimestamp(value * 86400, timezone.utc) if type(value) is int else None

    assert decode(datetime, 1384941600.5, dates=formats.SECONDS).microsecond == 500000
    assert decode(datetime, -1, dates=formats.SECONDS).second == 59
    assert decode(datetime, 1384941600000, dates=formats.MILLISECONDS) == MOMENT
    assert decode(datetime, "Wed, 20 Nov 2013 10:00:00 GMT", dates=formats.HTTP) == MOMENT
    assert decode(datetime, "Wednesday, 20-Nov-13 10:00:00 GMT", dates=formats.HTTP) == MOMENT
    assert decode(datetime, "Wed Nov 20 10:00:00 2013", dates=formats.HTTP) == MOMENT
    assert decode(datetime, 1, dates=days) == datetime(1970, 1, 2, tzinfo=timezone.utc)
    both = [formats.ISO8601, days]
    assert decode(datetime, 1, dates=both) == decode(datetime, "1970-01-02", dates=both)
    assert refused(datetime, [], dates=both) == "date (ISO 8601 or days) expected, array found"
    assert refused(datetime, "5", dates=formats.SECONDS).startswith("date (seconds since 1970)")
    assert "number 1e+300" in refused(datetime, 1e300, dates=formats.SECONDS)
    assert refused(datetime, "Wed, 31 Feb 2013 10:00:00 GMT", dates=formats.HTTP)
    with pytest.raises(TypeError, match="DateFormat"):
        ntapi.DecodingOptions(dates="iso")  # type: ignore[arg-type]


def test_a_field_may_have_a_format_of_its_own() -> None:
    milliseconds = Annotated[datetime, ntapi.DateFormat.MILLISECONDS]
    assert decode(list[milliseconds], [1384941600000]) == [MOMENT]
    assert decode(Optional[milliseconds], None) is None
