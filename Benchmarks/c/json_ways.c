/*
 * json_ways.c - what the two ways to JSON in C cost, by path and by jansson's trees, in CPU time. No server is asked.
 *
 *   cc -O2 -Iinclude Benchmarks/c/json_ways.c build/libntapi.so.0 -ljansson -Wl,-rpath,$PWD/build -o build/json_ways
 *   build/json_ways
 */
#include <ntapi_jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct document {
    const char *text;
    size_t length;
    ntapi_json *json;
    json_t *tree;
};

static void read_text(const struct document *document) {
    ntapi_json_free(ntapi_json_parse(document->text, document->length, NULL));
}

static void load_text(const struct document *document) {
    json_decref(json_loadb(document->text, document->length, JSON_ALLOW_NUL, NULL));
}

static void make_tree(const struct document *document) {
    json_decref(ntapi_json_to_jansson(document->json, NULL));
}

static void take_tree(const struct document *document) {
    ntapi_json_free(ntapi_json_from_jansson(document->tree));
}

static double temperatures;

static void look_up_by_path(const struct document *document) {
    temperatures += ntapi_json_double(document->json, "list[3].main.temp", 0);
}

static void look_up_in_tree(const struct document *document) {
    const json_t *city = json_array_get(json_object_get(document->tree, "list"), 3);
    temperatures += json_real_value(json_object_get(json_object_get(city, "main"), "temp"));
}

static void load_args(const struct document *document) {
    ntapi_args *args = ntapi_args_create();
    ntapi_args_append_json(args, document->text, document->length, NULL);
    ntapi_args_free(args);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/** Prints the microseconds that one call takes, the least of five rounds. */
static void measure(const char *what, void (*call)(const struct document *), const struct document *document) {
    double least = 1e9;
    for (int round = 0; round < 5; round++) {
        int calls = 0;
        double start = now(), spent;
        do {
            for (int i = 0; i < 8; i++)
                call(document);
            calls += 8;
            spent = now() - start;
        } while (spent < 0.1);
        if (spent / calls < least)
            least = spent / calls;
    }
    printf("  %-44s %9.2f us\n", what, least * 1e6);
}

/** A list of cities. */
static char *cities(int count) {
    char *text = malloc((size_t)count * 120 + 32), *end = text;
    if (text == NULL)
        exit(1);
    end += sprintf(end, "{\"list\":[");
    for (int i = 0; i < count; i++)
        end +=
            sprintf(end, "%s{\"id\":%d,\"name\":\"London %d\",\"main\":{\"temp\":%d.25,\"humidity\":81},\"ok\":true}",
                    i > 0 ? "," : "", i, i, i);
    strcpy(end, "]}");
    return text;
}

int main(void) {
    const int counts[] = {12, 1200};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char *text = cities(counts[i]);
        struct document document = {.text = text, .length = strlen(text)};
        document.json = ntapi_json_parse(text, document.length, NULL);
        document.tree = ntapi_json_to_jansson(document.json, NULL);
        printf("%zu bytes\n", document.length);
        measure("text to the tape, as a body: ntapi_json_parse", read_text, &document);
        measure("a value by path: ntapi_json_double", look_up_by_path, &document);
        measure("tape to tree: ntapi_response_jansson", make_tree, &document);
        measure("a value in the tree: json_object_get", look_up_in_tree, &document);
        measure("tree to value: ntapi_args_jansson", take_tree, &document);
        measure("text to tree, by jansson alone: json_loadb", load_text, &document);
        json_decref(document.tree);
        ntapi_json_free(document.json);
        free(text);
    }
    const char *args = "[[\"url\",\"q\",\"London\"],[\"url\",\"cnt\",20],[\"timeout\",5]]";
    struct document document = {.text = args, .length = strlen(args)};
    printf("%zu bytes\n", document.length);
    measure("args as text: ntapi_args_append_json", load_args, &document);
    measure("the share of jansson: json_loadb", load_text, &document);
    return temperatures < 0;
}
