// The switch of language: what it says is remembered, on this page and the others. style.css hides what is marked
// (languages.py) as being for other languages.
"use strict";

const buttons = [...document.querySelectorAll(".languages button")];

function show() {
    for (const button of buttons) {
        button.setAttribute("aria-pressed", button.value === document.documentElement.dataset.language);
    }
}

// What is in view stays there, although parts above it appear and disappear.
function choose(language) {
    const below = document.querySelector(".languages").getBoundingClientRect().bottom;
    const places = [...document.querySelectorAll("article :is(h1, h2, h3, h4, p, pre, tr)")]
        .map(item => [item, item.getBoundingClientRect()])
        .filter(([, place]) => place.height > 0 && place.top >= below)
        .map(([item, place]) => [item, place.top]);
    document.documentElement.dataset.language = language;
    const [item, top] = places.find(([item]) => item.offsetParent) ?? [];
    if (item) {
        scrollBy({ top: item.getBoundingClientRect().top - top, behavior: "instant" });
    }
    try {
        localStorage.setItem("language", language);
    } catch { }
    show();
}

// A link may lead to what is in another language.
function showTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && !target.offsetParent) {
        document.documentElement.dataset.language = "all";
        target.scrollIntoView();
        show();
    }
}

for (const button of buttons) {
    button.addEventListener("click", () => choose(button.value));
    button.parentElement.hidden = false;
}
document.documentElement.dataset.language ??= "all";
show();
showTarget();
addEventListener("hashchange", showTarget);
