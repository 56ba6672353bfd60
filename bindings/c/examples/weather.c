/*
 * weather.c - the weather of cities: finds them, lists them, follows them.
 *
 *   weather URL find NAME [TYPE [COUNT]]       cities by their name; TYPE is accurate or like
 *   weather URL list CODE ...                  their weather now
 *   weather URL follow SECONDS TIMES CODE ...  repeats, and prints what is new
 *
 * URL is https://api.openweathermap.org, with the API key in OPENWEATHER_APPID, or what
 * `python3 Tests/servers/weather.py` prints.
 */
#include <errno.h>
#include <inttypes.h>
#include <ntapi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SUCCESS ntapi_code_register("200")
#define NOT_FOUND ntapi_code_register("404")
#define INTERNAL_ERROR ntapi_code_register("500")

/** A city and its weather. */
struct city {
    int64_t id;
    const char *name;
    const char *country;
    double temperature;
    const char *sky;
    double observed;
};

struct cities {
    struct city *list;
    size_t count;
};

static const ntapi_field city_fields[] = {
    NTAPI_FIELD_INT(struct city, id, "id", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_STRING(struct city, name, "name", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_STRING(struct city, country, "sys.country", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_DOUBLE(struct city, temperature, "main.temp", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_STRING(struct city, sky, "weather[0].description", NTAPI_FIELD_FLAG_REQUIRED),
    NTAPI_FIELD_DATE(struct city, observed, "dt", NTAPI_FIELD_FLAG_REQUIRED, NTAPI_DATE_FORMAT_SECONDS),
    NTAPI_FIELD_END,
};

static const ntapi_field cities_fields[] = {
    NTAPI_FIELD_ARRAY(struct cities, list, count, "list", NTAPI_FIELD_FLAG_REQUIRED, city_fields),
    NTAPI_FIELD_END,
};

/* ---- the client: each call fills `cities` and returns their owner (new), or NULL and an error (new) ---- */

/** This service answers 200 with {"cod":"404","message":"..."}. This makes it an error with the code "404". */
static ntapi_error *map_service_error(void *user_data, const ntapi_response *response) {
    (void)user_data;
    const ntapi_json *json = ntapi_response_json(response);
    const char *code = ntapi_code_register(ntapi_json_string(json, "cod"));
    if (code == NULL || code == SUCCESS) /* codes are interned: == compares them */
        return NULL;
    return ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, code, ntapi_json_string(json, "message"), false);
}

/** A client whose defaults are `appid`, the API key, and `unit`: metric, imperial or standard. */
static ntapi_client *open_weather(const char *base_url) {
    const char *appid = getenv("OPENWEATHER_APPID");
    ntapi_class *class = ntapi_class_create("OpenWeather", NULL);
    ntapi_defaults *defaults = ntapi_class_defaults(class);
    if (ntapi_defaults_set_string(defaults, "appid", appid != NULL ? appid : "demo") != NTAPI_STATUS_OK ||
        ntapi_defaults_set_string(defaults, "unit", "metric") != NTAPI_STATUS_OK)
        fputs("error: OPENWEATHER_APPID is not UTF-8\n", stderr); /* and each request fails */
    ntapi_client *client = ntapi_client_create(class, base_url);
    ntapi_class_free(class); /* the client keeps a reference */
    ntapi_hooks hooks = {.size = sizeof hooks, .map_service_error = map_service_error};
    if (ntapi_client_set_hooks(client, &hooks, NULL, NULL) != NTAPI_STATUS_OK)
        return NULL; /* for example because the URL is not UTF-8: its requests say so */
    ntapi_client_set_log_flags(client, NTAPI_LOG_NONE); /* errors are printed below */
    return client;
}

/** The direct request: what all calls have in common. */
static ntapi_decoded *direct(ntapi_client *client, const char *command, ntapi_args *args, struct cities *cities,
                             ntapi_error **error) {
    ntapi_args_header(args, "Accept-Language", "en");
    ntapi_args_timeout(args, NTAPI_CLOCK_IDLE, 10);
    ntapi_response *response = ntapi_client_perform(client, command, args);
    ntapi_decoded *decoded = ntapi_response_decode(response, cities_fields, cities, sizeof *cities, error);
    ntapi_response_free(response);
    ntapi_args_free(args);
    return decoded;
}

/** The standard request: calls the direct one, with the session's parameters, which are defaults. */
static ntapi_decoded *standard(ntapi_client *client, const char *command, ntapi_args *args, struct cities *cities,
                               ntapi_error **error) {
    ntapi_args_url_default(args, "appid", NULL);
    ntapi_args_url_default(args, "units", "unit");
    return direct(client, command, args, cities, error);
}

/** Finds cities by name. `type` is "accurate", "like" for a part of the name, or NULL; `count` is text or NULL. */
static ntapi_decoded *find_cities(ntapi_client *client, const char *name, const char *type, const char *count,
                                  struct cities *cities, ntapi_error **error) {
    ntapi_args *args = ntapi_args_create();
    if (ntapi_args_url(args, "q", name) != NTAPI_STATUS_OK) {
        *error = ntapi_error_create(NTAPI_ERROR_DOMAIN_REQUEST, "invalid request", "the name is not UTF-8", false);
        ntapi_args_free(args);
        return NULL;
    }
    ntapi_args_url(args, "type", type); /* without a value there is no arg */
    ntapi_args_url(args, "cnt", count);
    return standard(client, "data/2.5/find", args, cities, error);
}

/** Whether the city with this code is among them. */
static const struct city *find(const struct cities *cities, int64_t code) {
    for (size_t i = 0; i < cities->count; i++)
        if (cities->list[i].id == code)
            return &cities->list[i];
    return NULL;
}

/** The current weather of cities, by their codes. An unknown city, which the service leaves out, is an error here. */
static ntapi_decoded *current_weather(ntapi_client *client, char **codes, int count, struct cities *cities,
                                      ntapi_error **error) {
    size_t room = 1;
    for (int i = 0; i < count; i++)
        room += strlen(codes[i]) + 1;
    char *list = calloc(room, 1);
    if (list == NULL)
        return NULL;
    for (int i = 0; i < count; i++)
        strcat(strcat(list, i == 0 ? "" : ","), codes[i]);
    ntapi_args *args = ntapi_args_create();
    ntapi_args_url(args, "id", list);
    free(list);
    ntapi_decoded *decoded = standard(client, "data/2.5/group", args, cities, error);
    for (int i = 0; decoded != NULL && i < count; i++)
        if (find(cities, atoll(codes[i])) == NULL) {
            char text[64];
            snprintf(text, sizeof text, "no city has the code %s", codes[i]);
            *error = ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, NOT_FOUND, text, false);
            ntapi_decoded_free(decoded);
            decoded = NULL;
        }
    return decoded;
}

/* ---- the terminal ---- */

static void show(const struct city *city) {
    char moment[32] = "";
    time_t seconds = (time_t)city->observed;
    struct tm time;
    if (gmtime_r(&seconds, &time) != NULL)
        strftime(moment, sizeof moment, "%Y-%m-%dT%H:%M:%SZ", &time);
    printf("%" PRId64 "  %5.1f °C  %s, %s: %s, %s\n", city->id, city->temperature, city->name, city->country, city->sky,
           moment);
}

/** Prints the cities or the error, and frees them; returns the exit status. */
static int finish(ntapi_decoded *decoded, const struct cities *cities, ntapi_error *error) {
    int status = decoded != NULL ? 0 : 1;
    for (size_t i = 0; decoded != NULL && i < cities->count; i++)
        show(&cities->list[i]);
    if (error != NULL && ntapi_error_code_name(error) == INTERNAL_ERROR)
        fprintf(stderr, "error: the service has trouble: try again later\n");
    else if (error != NULL)
        fprintf(stderr, "error: %s\n", ntapi_error_message(error));
    ntapi_decoded_free(decoded);
    ntapi_error_free(error);
    return status;
}

static int follow(ntapi_client *client, double seconds, int times, char **codes, int count) {
    struct cities before = {0};
    ntapi_decoded *kept = NULL;
    ntapi_error *error = NULL;
    const struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    for (int round = 0; round < times; round++) {
        if (round > 0)
            nanosleep(&pause, NULL);
        struct cities now = {0};
        ntapi_decoded *decoded = current_weather(client, codes, count, &now, &error);
        if (decoded == NULL)
            break;
        size_t news = 0;
        for (size_t i = 0; i < now.count; i++) {
            const struct city *known = find(&before, now.list[i].id);
            if (known == NULL || known->observed != now.list[i].observed) {
                show(&now.list[i]);
                news++;
            }
        }
        if (news == 0)
            printf("nothing new\n");
        fflush(stdout);
        ntapi_decoded_free(kept);
        kept = decoded;
        before = now;
    }
    ntapi_decoded_free(kept);
    return error != NULL ? finish(NULL, NULL, error) : 0;
}

/** Whether a word is a whole number from 1 to `most`. Prints an error if not. */
static bool is_number(const char *word, const char *name, long most) {
    char *end = NULL;
    errno = 0;
    long number = strtol(word, &end, 10);
    if (*word >= '0' && *word <= '9' && *end == '\0' && errno == 0 && number >= 1 && number <= most)
        return true;
    fprintf(stderr, "error: %s must be a whole number from 1 to %ld: %s\n", name, most, word);
    return false;
}

static bool are_codes(char **words, int count) {
    for (int i = 0; i < count; i++)
        if (!is_number(words[i], "CODE", INT32_MAX))
            return false;
    return true;
}

/** Whether a word is a number of seconds up to a day. Prints an error if not. */
static bool is_duration(const char *word) {
    char *end = NULL;
    double seconds = strtod(word, &end);
    if (*word != '\0' && *end == '\0' && seconds >= 0 && seconds <= 86400)
        return true;
    fprintf(stderr, "error: SECONDS must be a number from 0 to 86400: %s\n", word);
    return false;
}

static bool is_type(const char *word) {
    if (strcmp(word, "accurate") == 0 || strcmp(word, "like") == 0)
        return true;
    fprintf(stderr, "error: TYPE must be accurate or like: %s\n", word);
    return false;
}

/** Runs the command. Returns the exit status: 2 when the command line is wrong. */
static int run(ntapi_client *client, const char *action, char **words, int count) {
    struct cities cities = {0};
    ntapi_error *error = NULL;
    ntapi_decoded *decoded = NULL;
    if (strcmp(action, "find") == 0 && count >= 1 && count <= 3) {
        const char *type = count > 1 ? words[1] : NULL, *limit = count > 2 ? words[2] : NULL;
        if ((type != NULL && !is_type(type)) || (limit != NULL && !is_number(limit, "COUNT", 50)))
            return 2;
        decoded = find_cities(client, words[0], type, limit, &cities, &error);
    } else if (strcmp(action, "list") == 0 && count > 0) {
        if (!are_codes(words, count))
            return 2;
        decoded = current_weather(client, words, count, &cities, &error);
    } else if (strcmp(action, "follow") == 0 && count > 2) {
        if (!is_duration(words[0]) || !is_number(words[1], "TIMES", INT32_MAX) || !are_codes(words + 2, count - 2))
            return 2;
        return follow(client, atof(words[0]), atoi(words[1]), words + 2, count - 2);
    } else {
        fprintf(stderr, "usage: weather URL find NAME [accurate|like [COUNT]] | list CODE ...\n"
                        "       | follow SECONDS TIMES CODE ...\n");
        return 2;
    }
    return finish(decoded, &cities, error);
}

int main(int argc, char **argv) {
    ntapi_client *client = open_weather(argc > 1 ? argv[1] : "");
    int status = run(client, argc > 2 ? argv[2] : "", argv + (argc > 3 ? 3 : argc), argc > 3 ? argc - 3 : 0);
    ntapi_client_free(client);
    return status;
}
