"""The bundled demo API: OpenWeatherMap-like answers, with only the standard library."""
