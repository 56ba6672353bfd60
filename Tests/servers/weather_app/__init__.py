"""The bundled demo API: OpenWeatherMap-like answers from the standard library alone."""
