"""What the Stack Exchange API answers, as the program sees it."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Optional, TypeVar

T = TypeVar("T")


class Text(str):
    """The API writes its texts in HTML: this is one without tags and entities."""

    def __new__(cls, source: str) -> Text:
        return super().__new__(cls, html.unescape(re.sub("<[^>]*>", "", source)).strip())


@dataclass
class Page(Generic[T]):
    """The wrapper around every answer; its `backoff` and its errors are the client's business."""

    items: list[T]
    has_more: bool


@dataclass
class Owner:
    """Who wrote something; of somebody who left nothing but a name is known."""

    display_name: str
    user_id: Optional[int] = None

    def __post_init__(self) -> None:
        self.display_name = Text(self.display_name)


@dataclass
class Question:
    question_id: int
    title: str
    score: int
    answer_count: int
    creation_date: datetime
    owner: Owner
    tags: list[str]
    body: str = ""

    def __post_init__(self) -> None:
        self.title, self.body = Text(self.title), Text(self.body)


@dataclass
class Answer:
    answer_id: int
    score: int
    is_accepted: bool
    owner: Owner
    body: str = ""

    def __post_init__(self) -> None:
        self.body = Text(self.body)


@dataclass
class User:
    user_id: int
    display_name: str
    reputation: int
    creation_date: datetime
    location: str = ""

    def __post_init__(self) -> None:
        self.display_name, self.location = Text(self.display_name), Text(self.location)
