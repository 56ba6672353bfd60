"""Settings of Sphinx for the documentation site, which docs/site/build.py builds."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bindings" / "python" / "src"), str(ROOT / "docs" / "site")]

import ntapi

# Where autodoc finds the comments of its attributes.
ntapi.ApiError.__module__ = "ntapi._errors"

project = "NTApi"
version = release = ntapi.__version__
copyright = "the NTApi contributors"
extensions = [
    "myst_parser",
    "breathe",
    "sphinx.ext.autodoc",
    "sphinx_codeautolink",
    "crosslinks",
    "languages",
]
include_patterns = ["*.md", "docs/*.md", "bindings/*/README.md", "reference/**.md"]

myst_heading_anchors = 4
myst_enable_extensions = ["deflist", "attrs_inline"]
# Its lexer of Swift does not know raw strings. A `type` in a signature is Python's, and some classes have an attribute of
# that name.
suppress_warnings = ["misc.highlighting_failure", "ref.python"]

breathe_projects = {"ntapi": str(ROOT / "build" / "site" / "doxygen" / "xml")}
breathe_default_project = "ntapi"
breathe_domain_by_extension = {"h": "c"}
breathe_show_define_initializer = True

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {
    "members": True,
    "undoc-members": True,
    "inherited-members": "object,str,int,Enum,IntFlag,BaseException,tuple,dict,Mapping,MutableMapping,Protocol",
}
autodoc_inherit_docstrings = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 60
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "NTApi"
templates_path = ["templates"]
html_static_path = ["style.css", "language.js"]
html_css_files = ["style.css"]
html_js_files = ["language.js"]
html_copy_source = False
html_show_sphinx = False
# Summaries are fetched, which browsers refuse without a server.
html_show_search_summary = False
html_theme_options: dict[str, object] = {"top_of_page_buttons": []}
pygments_style = "tango"
pygments_dark_style = "a11y-high-contrast-dark"
