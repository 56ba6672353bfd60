/*
 * weather.c - the weather of cities: finds them, lists them, follows them.
 *
 *   weather URL find NAME                      cities by a part of their name
 *   weather URL list CODE ...                  their weather now
 *   weather URL follow SECONDS TIMES CODE ...  again and again: what is new
 *
 * URL is https://api.openweathermap.org, with the key of the API in OPENWEATHER_APPID, or what
 * `python3 Tests/servers/weather.py` prints.
 */
#include <inttypes.h>
#include <ntapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SUCCESS ntapi_code_register("200")
#define NOT_FOUND ntapi_code_register("404")
#define INTERNAL_ERROR ntapi_code_register("500")

/** A city and the weather there. */
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
    NTAPI_FIELD_INT(struct city, id, "id", NTAPI_FIELD_REQUIRED),
    NTAPI_FIELD_STRING(struct city, name, "name", NTAPI_FIELD_REQUIRED),
    NTAPI_FIELD_STRING(struct city, country, "sys.country", NTAPI_FIELD_REQUIRED),
    NTAPI_FIELD_DOUBLE(struct city, temperature, "main.temp", NTAPI_FIELD_REQUIRED),
    NTAPI_FIELD_STRING(struct city, sky, "weather[0].description", NTAPI_FIELD_REQUIRED),
    NTAPI_FIELD_DATE(struct city, observed, "dt", NTAPI_FIELD_REQUIRED, NTAPI_DATE_FORMAT_SECONDS),
    NTAPI_FIELD_END,
};

static const ntapi_field cities_fields[] = {
    NTAPI_FIELD_ARRAY(struct cities, list, count, "list", NTAPI_FIELD_REQUIRED, city_fields),
    NTAPI_FIELD_END,
};

/* ---- the client: each call fills `cities` and returns what they are in, new; NULL with an error, new ---- */

/** This service says 200 and then {"cod":"404","message":"..."}: that is an error with the code "404". */
static ntapi_error *map_service_error(void *user_data, const ntapi_response *response) {
    (void)user_data;
    const ntapi_json *json = ntapi_response_json(response);
    const char *code = ntapi_code_register(ntapi_json_string(json, "cod"));
    if (code == NULL || code == SUCCESS) /* codes are interned: == compares them */
        return NULL;
    return ntapi_error_create(NTAPI_ERROR_DOMAIN_SERVICE, code, ntapi_json_string(json, "message"));
}

/** A client whose defaults are `appid`, the key of the API, and `unit`: metric, imperial or standard. */
static ntapi_client *open_weather(const char *base_url) {
    const char *appid = getenv("OPENWEATHER_APPID");
    ntapi_class *class = ntapi_class_create("OpenWeather", NULL);
    ntapi_defaults_set_string(ntapi_class_defaults(class), "appid", appid != NULL ? appid : "demo");
    ntapi_defaults_set_string(ntapi_class_defaults(class), "unit", "metric");
    ntapi_client *client = ntapi_client_create(class, base_url);
    ntapi_class_free(class); /* the client keeps it */
    ntapi_hooks *hooks = ntapi_hooks_create(NULL, NULL);
    ntapi_hooks_set_map_service_error(hooks, map_service_error);
    ntapi_client_set_hooks(client, hooks);
    ntapi_hooks_free(hooks);
    ntapi_client_set_log_flags(client, NTAPI_LOG_NONE); /* errors are printed below */
    return client;
}

/** The direct request: what is common to every call. */
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

/** The standard request, on top of the direct one: adds the parameters of the session, which are defaults. */
static ntapi_decoded *standard(ntapi_client *client, const char *command, ntapi_args *args, struct cities *cities,
                               ntapi_error **error) {
    ntapi_args_url_default(args, "appid", NULL);
    ntapi_args_url_default(args, "units", "unit");
    return direct(client, command, args, cities, error);
}

/** Cities by a part of their name. */
static ntapi_decoded *find_cities(ntapi_client *client, const char *name, struct cities *cities, ntapi_error **error) {
    ntapi_args *args = ntapi_args_create();
    ntapi_args_url(args, "q", name);
    return standard(client, "data/2.5/find", args, cities, error);
}

/** The weather of cities now, by their codes: words of digits. */
static ntapi_decoded *current_weather(ntapi_client *client, char **codes, int count, struct cities *cities,
                                      ntapi_error **error) {
    char list[1024] = "";
    for (int i = 0; i < count && strlen(list) + strlen(codes[i]) + 2 < sizeof list; i++)
        strcat(strcat(list, i == 0 ? "" : ","), codes[i]);
    ntapi_args *args = ntapi_args_create();
    ntapi_args_url(args, "id", list);
    return standard(client, "data/2.5/group", args, cities, error);
}

/* ---- the terminal ---- */

static void show(const struct city *city) {
    char moment[32];
    time_t seconds = (time_t)city->observed;
    strftime(moment, sizeof moment, "%Y-%m-%dT%H:%M:%SZ", gmtime(&seconds));
    printf("%" PRId64 "  %5.1f °C  %s, %s: %s, %s\n", city->id, city->temperature, city->name, city->country, city->sky,
           moment);
}

/** Prints what is there, and frees it; returns the status of the program. */
static int finish(ntapi_decoded *decoded, const struct cities *cities, ntapi_error *error) {
    int status = decoded != NULL ? 0 : 1;
    for (size_t i = 0; decoded != NULL && i < cities->count; i++)
        show(&cities->list[i]);
    if (error != NULL && ntapi_error_code(error) == NOT_FOUND)
        printf("no such city\n");
    else if (error != NULL && ntapi_error_code(error) == INTERNAL_ERROR)
        printf("the service has trouble: try again later\n");
    else if (error != NULL)
        printf("error: %s: %s\n", ntapi_error_code(error), ntapi_error_message(error));
    ntapi_decoded_free(decoded);
    ntapi_error_free(error);
    return status;
}

/** When the city of that id was observed in the cities of before; 0 when it is none of them. */
static double observed_before(const struct cities *before, int64_t id) {
    for (size_t i = 0; i < before->count; i++)
        if (before->list[i].id == id)
            return before->list[i].observed;
    return 0;
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
        for (size_t i = 0; i < now.count; i++)
            if (now.list[i].observed != observed_before(&before, now.list[i].id)) {
                show(&now.list[i]);
                news++;
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

int main(int argc, char **argv) {
    const char *action = argc > 2 ? argv[2] : "";
    ntapi_client *client = open_weather(argc > 1 ? argv[1] : "");
    struct cities cities = {0};
    ntapi_error *error = NULL;
    ntapi_decoded *decoded;
    int status = 2;
    if (strcmp(action, "find") == 0 && argc == 4) {
        decoded = find_cities(client, argv[3], &cities, &error);
        status = finish(decoded, &cities, error);
    } else if (strcmp(action, "list") == 0 && argc > 3) {
        decoded = current_weather(client, argv + 3, argc - 3, &cities, &error);
        status = finish(decoded, &cities, error);
    } else if (strcmp(action, "follow") == 0 && argc > 5) {
        status = follow(client, atof(argv[3]), atoi(argv[4]), argv + 5, argc - 5);
    } else {
        printf("usage: weather URL find NAME | list CODE ... | follow SECONDS TIMES CODE ...\n");
    }
    ntapi_client_free(client);
    return status;
}
