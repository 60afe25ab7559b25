#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sandbox/base/buf.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/digest.h"
#include "sandbox/base/digest_avx2.h"
#include "sandbox/base/err.h"
#include "sandbox/base/json.h"
#include "sandbox/base/map.h"
#include "sandbox/base/text.h"
#include "tests/lib/tap.h"

static void test_err(void)
{
	struct err e = ERR_NULL;
	errno = EACCES;
	int r = err_sys(&e, "mount %s", "/tmp");
	err_in(&e, "order %d", 3);
	tap_ok(r == -EACCES && text_eq(e.text, "order 3: mount /tmp: Permission denied"),
	       "an err reads from the outside in");
}

static const struct {
	const char *text, *error;
} json_cases[] = {
	{ "{\"a\": 1}", NULL },
	{ "\xef\xbb\xbf{\r\n // a comment\r\n \"a\": \"/* none */\" /* one */ }\r\n", NULL },
	{ "{\n  \"a\": 1,\n  oops\n}", "f.json:3:3: this is no JSON" },
	{ "{ /* never\n", "f.json:1:3: this comment does not end" },
	{ "{\"a\": \"\xff\"}", "f.json:1:8: this byte is no UTF-8" },
	{ "", "f.json:1:1: this is no JSON" },
	{ "{} trailing", "f.json:1:4: this is no JSON" },
};

static const char *const names[] = { "a",       "", "a\xff", "\xff", "\xff\xfe", "\xff\xfe\xfd",
				     "\xff/+?~" };

static void test_json(void)
{
	for (size_t i = 0; i < countof(json_cases); i++) {
		cleanup_json cJSON *tree = NULL;
		struct err e = ERR_NULL;
		const char *text = json_cases[i].text;
		int r = json_parse("f.json", text, strlen(text), &tree, &e);
		tap_ok(r == (json_cases[i].error ? -EINVAL : 0) &&
			       text_eq(json_cases[i].error ? json_cases[i].error : "", e.text),
		       "parse: %s (%s)", text, e.text);
	}

	cleanup_json cJSON *object = cJSON_CreateObject();
	json_add_name(object, "key", "a\xff");
	cleanup_free char *line = json_line(object);
	tap_ok(text_eq(line, "{\"key\":\"a\xef\xbf\xbd\",\"key_b64\":\"Yf8=\"}"),
	       "a name that is no UTF-8 keeps its bytes: %s", line);
	for (size_t i = 0; i < countof(names); i++) {
		cleanup_json cJSON *named = cJSON_CreateObject();
		cleanup_free char *back = NULL;
		json_add_name(named, "key", names[i]);
		tap_ok(json_get_name(named, "key", &back) == 0 && text_eq(back, names[i]),
		       "and gets them back: %zu", i);
	}
}

/* Keys that are refused, and where. */
static const struct {
	const char *text, *error, *hint;
} key_cases[] = {
	{ "{\n \"netwrok\": \"none\" }", "f.json:2:2: unknown key \"netwrok\"",
	  "did you mean \"network\"?" },
	{ "\xef\xbb\xbf/* \"oops\": 1 */ {\"timeout\": {\"oops\": 1},\r\n\"oops\": 2}",
	  "f.json:2:1: unknown key \"oops\"", "" },
	{ "{\"timeout\": 1, \"timeout\": 2}", "f.json:1:16: the key \"timeout\" stands here twice",
	  "" },
	{ "{\"network\": 1}", "", "" },
};

static void test_json_keys(void)
{
	static const char *const known[] = { "timeout", "network" };
	for (size_t i = 0; i < countof(key_cases); i++) {
		const char *text = key_cases[i].text;
		cleanup_json cJSON *tree = NULL;
		struct err e = ERR_NULL;
		json_parse("f.json", text, strlen(text), &tree, &e);
		struct json_source src = { "f.json", text, tree };
		int r = json_known_keys(&src, tree, known, countof(known), &e);
		tap_ok(r == (*key_cases[i].error ? -EINVAL : 0) &&
			       text_eq(e.text, key_cases[i].error) &&
			       text_eq(e.hint, key_cases[i].hint),
		       "keys of %s: %s", text, e.text);
	}
	const char *text = "{\"a\": [1, {\"b\": 2}],\n \"c\": 3}";
	cleanup_json cJSON *tree = NULL;
	struct err e = ERR_NULL;
	json_parse("f.json", text, strlen(text), &tree, &e);
	struct json_source src = { "f.json", text, tree };
	json_refuse(&src, tree->child->child, &e, "no");
	tap_ok(text_eq(e.text, "f.json:1:2: no"), "an item of an array: %s", e.text);
	json_refuse(&src, tree->child->next, &e, "no");
	tap_ok(text_eq(e.text, "f.json:2:2: no"), "a key after others: %s", e.text);
	json_refuse(&src, tree, &e, "no");
	tap_ok(text_eq(e.text, "f.json:1:1: no"), "the whole: %s", e.text);
}

static void test_json_entries(void)
{
	const char *text = "\xef\xbb\xbf[\"a,[\", // \"x\",\n [1, [2]], {\"b\": 1,\"c\": 2},\n\n  3]";
	static const char *const places[] = { "1:2", "2:2", "2:12", "4:3" };
	cleanup_json cJSON *tree = NULL;
	struct err e = ERR_NULL;
	int r = json_parse("f.json", text, strlen(text), &tree, &e);
	struct json_source src = { "f.json", text, tree };
	size_t n = 0;
	const cJSON *entry;
	cJSON_ArrayForEach(entry, tree)
	{
		char expected[32];
		snprintf(expected, sizeof(expected), "f.json:%s: no", places[n++]);
		json_refuse_entry(&src, entry, &e, "no");
		tap_ok(text_eq(e.text, expected), "an entry of a list: %s", e.text);
	}
	tap_ok(!r && n == countof(places), "all of them");
}

static void join(const char *key, void *value, void *with)
{
	(void)value;
	buf_puts(with, key);
}

static void test_map(void)
{
	cleanup(map_done) struct map m = MAP_NULL(free);
	map_put(&m, "b", strdup("1"));
	map_put(&m, "a", strdup("2"));
	map_put(&m, "c", strdup("3"));
	map_put(&m, "b", strdup("4"));
	cleanup(buf_done) struct buf keys = BUF_NULL;
	map_walk(&m, join, &keys);
	tap_ok(text_eq(keys.at, "abc") && m.len == 3 && text_eq(map_get(&m, "b"), "4"),
	       "a map is in order and replaces");
	tap_ok(map_remove(&m, "a") && !map_remove(&m, "a") && !map_get(&m, "a") && m.len == 2,
	       "a map removes once");
}

static void test_digest(void)
{
	struct digest a = digest_bytes("a", 1);
	struct digest b = digest_bytes("b", 1);
	struct digest sum = digest_add(a, b);
	tap_ok(digest_eq(digest_sub(sum, b), a) && digest_eq(sum, digest_add(b, a)),
	       "sums of digests are free of order and can be undone");
	char hex[DIGEST_HEX];
	tap_ok(text_eq(digest_hex(digest_bytes("", 0), hex), "99aa06d3014798d86001c324468d497f"),
	       "the digest is XXH3-128");
	tap_ok(digest_seeded("", 0, 0) == 0x2d06800538d394c2 &&
		       digest_seeded("a", 1, 1) != digest_seeded("a", 1, 2) &&
		       digest_seeded("tests/test_a.py::test_x", 23, 17) == 0xadb49c9ee615367f,
	       "one with a seed is XXH3-64: %jx",
	       (uintmax_t)digest_seeded("tests/test_a.py::test_x", 23, 17));
}

/* Fed in pieces of that length: as wide as the processor can, or as the library does. */
static struct digest digest_pieces(XXH3_state_t *state, const char *bytes, size_t len, size_t piece,
				   bool wide)
{
	XXH3_128bits_reset(state);
	for (size_t at = 0; at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;
		if (wide)
			digest_avx2_update(state, bytes + at, n);
		else
			XXH3_128bits_update(state, bytes + at, n);
	}
	XXH128_hash_t hash = XXH3_128bits_digest(state);
	return (struct digest){ .high = hash.high64, .low = hash.low64 };
}

static void test_digest_avx2(void)
{
	static const size_t pieces[] = { 1, 31, 64, 255, 256, 257, 1024, 4097, 1 << 16 };
	static char bytes[(1 << 16) + 3];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * i >> 3);
	if (!digest_avx2_works()) {
		tap_skip("this processor has no AVX2", "a digest by AVX2");
		return;
	}
	XXH3_state_t *state = XXH3_createState();
	size_t wrong = 0;
	size_t seen = 0;
	for (size_t len = 0; len <= sizeof(bytes); len += len < 1300 ? 1 : 1021) {
		struct digest whole = digest_bytes(bytes, len);
		for (size_t i = 0; i < countof(pieces); i++, seen++)
			wrong +=
				!digest_eq(digest_pieces(state, bytes, len, pieces[i], true), whole) ||
				!digest_eq(digest_pieces(state, bytes, len, pieces[i], false), whole);
	}
	XXH3_freeState(state);
	tap_ok(seen > 10000 && wrong == 0, "AVX2 changes no digest: %zu of %zu", wrong, seen);
}

/* Of a file of that length, with text at `at` and holes or zeros around it. */
static struct digest digest_of(off_t len, off_t at, const char *text, bool zeros)
{
	static const char nothing[1 << 16];
	cleanup_close int fd = memfd_create("file", MFD_CLOEXEC);
	struct digest digest;
	uint64_t seen = 0;
	bool made = fd >= 0;
	for (off_t done = 0; made && zeros && done < len; done += (off_t)sizeof(nothing))
		made = pwrite(fd, nothing, sizeof(nothing), done) > 0;
	made = made && ftruncate(fd, len) == 0 && pwrite(fd, text, strlen(text), at) > 0;
	if (!made || digest_file(fd, &digest, &seen, NULL) || seen != (uint64_t)len)
		return DIGEST_NULL;
	return digest;
}

static void test_digest_file(void)
{
	const off_t mib = 1 << 20;
	struct digest hole = digest_of(3 * mib, 2 * mib, "x", false);
	tap_ok(digest_eq(hole, digest_of(3 * mib, 2 * mib, "x", true)), "a hole is as good as zeros");
	tap_ok(!digest_eq(hole, digest_of(3 * mib + 1, 2 * mib, "x", false)), "its length counts");
	tap_ok(!digest_eq(hole, digest_of(3 * mib, 2 * mib + 1, "x", false)), "so does the place");
	tap_ok(!digest_eq(hole, digest_of(3 * mib, mib, "x", false)), "of whole chunks, too");
	tap_ok(!digest_eq(hole, digest_of(3 * mib, 2 * mib, "y", false)), "and the content");
	tap_ok(digest_eq(digest_of(3, 0, "abc", false), digest_bytes("abc", 3)),
	       "a small file is its bytes");
	tap_ok(!digest_eq(digest_of(mib << 20, 0, "x", false), DIGEST_NULL),
	       "a terabyte of hole is read at once");
}

static const struct {
	const char *pattern, *text;
	bool fits;
} globs[] = {
	{ "", "", true },           { "", "a", false },
	{ "*", "", true },          { "*", "a/b", true },
	{ "a*c", "abc", true },     { "a*c", "ac", true },
	{ "a*c", "acb", false },    { "a?c", "abc", true },
	{ "a?c", "ac", false },     { "*ab", "aab", true },
	{ "*a*b*", "xaxbx", true }, { "*a*b", "xaxbx", false },
	{ "t[1]", "t[1]", true },   { "t[1]", "t1", false },
	{ "a**", "a", true },       { "*.py::*", "tests/a.py::b", true },
	{ "**a", "b", false },
};

static void test_globs(void)
{
	for (size_t i = 0; i < countof(globs); i++)
		tap_ok(text_glob(globs[i].pattern, globs[i].text) == globs[i].fits,
		       "\"%s\" %s \"%s\"", globs[i].pattern,
		       globs[i].fits ? "fits" : "does not fit", globs[i].text);
}

static void test_text(void)
{
	tap_ok(path_below("/a/b", "/a") && path_below("/a", "/a") && !path_below("/ab", "/a") &&
		       path_below("/x", "/"),
	       "path_below");
	bool clean = true;
	cleanup_free char *shown = text_utf8("x\xc3\xa9\xed\xa0\x80y", &clean);
	tap_ok(!clean && text_eq(shown, "x\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdy"),
	       "surrogates are no UTF-8");
	const char *const words[] = { "run", "report", "rule" };
	tap_ok(text_eq(text_nearest("rnu", words, 3), "run") && !text_nearest("explode", words, 3),
	       "the nearest name");
	tap_ok(text_ends("a.pyc", ".pyc") && text_ends("a", "") && !text_ends("c", ".pyc"),
	       "text_ends");
	tap_ok(text_eq(text_word("  one  two three", 1), "two three") &&
		       text_eq(text_word("one two", 2), "") && text_eq(text_word("", 3), ""),
	       "the nth word, and all behind it");
}

int main(void)
{
	test_err();
	test_json();
	test_json_keys();
	test_json_entries();
	test_map();
	test_digest();
	test_digest_avx2();
	test_digest_file();
	test_text();
	test_globs();
	return tap_done();
}
