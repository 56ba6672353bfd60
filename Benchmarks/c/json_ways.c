/*
 * json_ways.c - what the two ways to JSON in C cost, by path and by jansson's trees, in CPU time. No server is asked.
 *
 *   cc -O2 -Iinclude Benchmarks/c/json_ways.c build/libntapi.so.0 -ljansson -Wl,-rpath,$PWD/build -o build/json_ways
 *   build/json_ways
 */
#include <ntapi_jansson.h>
#include <ntapi_testing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct document {
    const char *text;
    size_t length;
    ntapi_json *json;
    json_t *tree;
    ntapi_client *client;
    ntapi_args *raw;
};

static void perform(const struct document *document) {
    ntapi_response_free(ntapi_client_perform(document->client, "", NULL));
}

static void perform_raw(const struct document *document) {
    ntapi_response_free(ntapi_client_perform(document->client, "", document->raw));
}

static void read_text(const struct document *document) {
    ntapi_json_free(ntapi_json_parse(document->text, document->length, NULL));
}

static void write_text(const struct document *document) {
    /* A handle of its own: each keeps the text that it has lent. */
    ntapi_json *json = ntapi_json_get(document->json, NULL);
    ntapi_json_text(json);
    ntapi_json_free(json);
}

static void dump_text(const struct document *document) {
    free(json_dumps(document->tree, JSON_COMPACT | JSON_REAL_PRECISION(15)));
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

static void print(const char *what, double seconds) {
    printf("  %-44s %9.2f us\n", what, seconds * 1e6);
}

/** The seconds that one call takes, the least of five rounds. */
static double time_of(void (*call)(const struct document *), const struct document *document) {
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
    return least;
}

static void measure(const char *what, void (*call)(const struct document *), const struct document *document) {
    print(what, time_of(call, document));
}

/** Has a stub answer with the document, and takes it from the response: bodies are on the library's own tape. */
static void receive(struct document *document) {
    ntapi_stub *stub = ntapi_stub_create();
    ntapi_stub_rule *rule = ntapi_stub_on(stub, NULL, NULL);
    ntapi_stub_answer answer = {
        .size = sizeof answer, .body = document->text, .length = document->length, .content_type = "application/json"};
    ntapi_stub_rule_answer(rule, &answer, NULL);
    ntapi_stub_rule_free(rule);
    document->client = ntapi_client_create(NULL, "http://api.test");
    if (ntapi_client_set_stub(document->client, stub) != NTAPI_STATUS_OK)
        abort();
    ntapi_stub_free(stub);
    ntapi_response *response = ntapi_client_perform(document->client, "", NULL);
    document->json = ntapi_json_get(ntapi_response_json(response), NULL);
    ntapi_response_free(response);
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
        receive(&document);
        document.raw = ntapi_args_create();
        ntapi_args_option(document.raw, NTAPI_OPTION_RAW_DATA, "");
        document.tree = ntapi_json_to_jansson(document.json, NULL);
        printf("%zu bytes\n", document.length);
        if (counts[i] > 100) /* the time of a request would hide that of a small body */
            print("a body when it arrives", time_of(perform, &document) - time_of(perform_raw, &document));
        measure("text that is handed in: ntapi_json_parse", read_text, &document);
        measure("text that is taken out: ntapi_json_text", write_text, &document);
        measure("text of a tree, by jansson alone: json_dumps", dump_text, &document);
        measure("a value by path: ntapi_json_double", look_up_by_path, &document);
        measure("tape to tree: ntapi_response_jansson", make_tree, &document);
        measure("a value in the tree: json_object_get", look_up_in_tree, &document);
        measure("tree to value: ntapi_args_jansson", take_tree, &document);
        measure("text to tree, by jansson alone: json_loadb", load_text, &document);
        json_decref(document.tree);
        ntapi_json_free(document.json);
        ntapi_args_free(document.raw);
        ntapi_client_free(document.client);
        free(text);
    }
    const char *args = "[[\"url\",\"q\",\"London\"],[\"url\",\"cnt\",20],[\"timeout\",5]]";
    struct document document = {.text = args, .length = strlen(args)};
    printf("%zu bytes\n", document.length);
    measure("args as text: ntapi_args_append_json", load_args, &document);
    measure("the share of jansson: json_loadb", load_text, &document);
    return temperatures < 0;
}
