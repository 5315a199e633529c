/* base/sha256.h against the examples of FIPS 180-4, in pieces of every size. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "base/sha256.h"

static const struct {
    const char *text, *sum;
} KNOWN[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrs"
     "tn"
     "opqrstu",
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};

static void known_texts_in_pieces(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        for (size_t piece = 1; piece < 130; piece++) {
            char text[SC_SHA256_TEXT];
            struct sc_sha256 sum;
            size_t len = strlen(KNOWN[i].text);
            sc_sha256_init(&sum);
            for (size_t at = 0; at < len; at += piece)
                sc_sha256_add(&sum, KNOWN[i].text + at, len - at < piece ? len - at : piece);
            sc_sha256_text(&sum, text);
            assert_string_equal(text, KNOWN[i].sum);
        }
}

static void a_million_letters(void **state)
{
    char text[SC_SHA256_TEXT], letters[1000];
    struct sc_sha256 sum;
    (void)state;
    memset(letters, 'a', sizeof letters);
    sc_sha256_init(&sum);
    for (int i = 0; i < 1000; i++)
        sc_sha256_add(&sum, letters, sizeof letters);
    sc_sha256_text(&sum, text);
    assert_string_equal(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts_in_pieces),
        cmocka_unit_test(a_million_letters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
