#include "ledger/export.h"
#include "ledger/signed-note.h"
#include "ledger/proof.h"
#include "tests/support/store-fixture.h"

#include <sodium.h>
#include <string.h>

static size_t make(Checkpoint *c, uint8_t pk[32], char note[static NOTE_MAX]) {
        uint8_t sk[64], seed[32] = {1}, signature[64];
        char text[NOTE_MAX];
        size_t n;

        cr_assert_geq(sodium_init(), 0);
        crypto_sign_seed_keypair(pk, sk, seed);
        *c = (Checkpoint){.origin = "lethe/0011223344556677", .size = UINT64_C(18446744073709551615)};
        memset(c->root.b, 0xA5, sizeof(c->root.b));
        n = note_text(c, text);
        crypto_sign_detached(signature, NULL, (const uint8_t *)text, n, sk);
        return note_build(c, pk, signature, note);
}

Test(note, open_of_build_is_identity) {
        char note[NOTE_MAX];
        uint8_t pk[32];
        Checkpoint c, back;
        Diag d = {0};
        size_t n = make(&c, pk, note);

        cr_assert_eq(note_open(note, n, pk, &back, &d), 0, "%s", d.text);
        cr_assert_str_eq(back.origin, c.origin);
        cr_assert_eq(back.size, c.size);
        cr_assert_eq(memcmp(&back.root, &c.root, sizeof(c.root)), 0);
        pk[0] ^= 1;
        cr_assert_eq(note_open(note, n, pk, &back, &d), NOTE_E_KEY);
}

// Each flipped bit of a note and each cut of it is refused, spare bits of base64 too.
Test(note, every_flip_and_cut_is_refused) {
        char note[NOTE_MAX];
        uint8_t pk[32];
        Checkpoint c;
        size_t n = make(&c, pk, note);

        for (size_t i = 0; i < n; i++) {
                cr_assert_neq(note_open(note, i, pk, &c, NULL), 0, "cut at %zu", i);
                for (int bit = 0; bit < 8; bit++) {
                        note[i] ^= (char)(1 << bit);
                        cr_assert_neq(note_open(note, n, pk, &c, NULL), 0, "byte %zu bit %d", i, bit);
                        note[i] ^= (char)(1 << bit);
                }
        }
}

Test(note, malformed_notes_are_refused_by_form) {
        static const char *const rows[] = {
                "",
                "\n",
                "o\n",
                "o\n1\n",
                "o\n01\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\nx\n",
                "o\n18446744073709551616\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\nx\n",
                "o\n-1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\nx\n",
                "o\n1\nAAAA\n\nx\n",
                "o\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nextension\n\nx\n",
                "o\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n",
        };
        Checkpoint c;

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                cr_assert_eq(note_parse(rows[i], strlen(rows[i]), &c, NULL), NOTE_E_FORM, "row %zu", i);
}

Test(proof, every_flip_of_a_proof_is_refused) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_buf_ Buf proof = {0};
        uint64_t index;
        Checkpoint c;
        Txn *t;
        Bytes e;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        for (int i = 0; i < 5; i++) {
                char entry[16];

                cr_assert_eq(ledger_append(t, entry, (size_t)snprintf(entry, sizeof(entry), "{\"i\":%d}", i), 0, NULL),
                             0);
        }
        store_fixture_commit(&f, t);
        t = store_fixture_begin(&f, false);
        cr_assert_eq(proof_build(t, 3, &proof, &f.d), 0, "%s", f.d.text);
        cr_assert_eq(ledger_get(t, 3, &e), 0);
        cr_assert_eq(proof_check(proof.data, proof.n, e.p, e.n, store_public_key(f.store), &index, &c, &f.d), 0, "%s",
                     f.d.text);
        cr_assert_eq(index, 3);
        cr_assert_eq(c.size, 6);
        for (size_t i = 0; i < proof.n; i++) {
                proof.data[i] ^= 1;
                cr_assert_neq(proof_check(proof.data, proof.n, e.p, e.n, store_public_key(f.store), &index, &c, NULL),
                              0, "byte %zu", i);
                proof.data[i] ^= 1;
                cr_assert_neq(proof_check(proof.data, i, e.p, e.n, store_public_key(f.store), &index, &c, NULL), 0,
                              "cut at %zu", i);
        }
        cr_assert_eq(proof_build(t, 6, &proof, &f.d), PROOF_E_NO_ENTRY);
        store_abort(t);
}

// c2sp.org/tlog-tiles: the index in groups of three digits.
Test(export, tile_paths) {
        static const struct {
                int level;
                uint64_t n;
                unsigned width;
                const char *path;
        } rows[] = {
                {0, 0, 256, "tile/0/000"},
                {-1, 0, 7, "tile/entries/000.p/7"},
                {1, 999, 255, "tile/1/999.p/255"},
                {0, 1000, 256, "tile/0/x001/000"},
                {0, 1234067, 256, "tile/0/x001/x234/067"},
                {2, 1000000005, 1, "tile/2/x001/x000/x000/005.p/1"},
        };
        char path[EXPORT_PATH_MAX];

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                export_tile_path(rows[i].level, rows[i].n, rows[i].width, path);
                cr_assert_str_eq(path, rows[i].path);
        }
}

// O-9: the key of a node is read in the one form in which it is written
Test(note, vkeys) {
        char vkey[VKEY_MAX], longest[NOTE_NAME_MAX + 1], name[NOTE_NAME_MAX], keyid[NOTE_KEYID_MAX], again[VKEY_MAX];
        uint8_t pk[32], key[32];
        char note[NOTE_MAX];
        Checkpoint c;
        Diag d = {0};

        make(&c, pk, note);
        memset(longest, 'x', NOTE_NAME_MAX);
        for (size_t n = NOTE_NAME_MAX - 1; n <= NOTE_NAME_MAX; n++) {
                longest[n] = 0;
                cr_assert_eq(note_name_valid(longest), n < NOTE_NAME_MAX, "%zu bytes", n);
                longest[n] = 'x';
        }
        longest[NOTE_NAME_MAX - 1] = 0;
        for (size_t i = 0; i < 2; i++) {
                const char *of = i == 0 ? c.origin : longest;

                note_vkey(of, pk, vkey);
                cr_assert_eq(note_vkey_parse(vkey, name, key, &d), 0, "%s: %s", vkey, d.text);
                cr_assert_str_eq(name, of);
                cr_assert_eq(memcmp(key, pk, sizeof(key)), 0);
                cr_assert_eq(memcmp(vkey + strlen(of) + 1, note_keyid(of, pk, keyid), 8), 0);
                for (size_t at = 0; at < strlen(vkey); at++) {
                        for (int bit = 0; bit < 8; bit++) {
                                memcpy(again, vkey, sizeof(again));
                                again[at] ^= (char)(1 << bit);
                                cr_assert_eq(note_vkey_parse(again, name, key, NULL), NOTE_E_FORM, "byte %zu bit %d: %s", at, bit, again);
                        }
                        memcpy(again, vkey, sizeof(again));
                        again[at] = 0;
                        cr_assert_eq(note_vkey_parse(again, name, key, NULL), NOTE_E_FORM, "cut at %zu", at);
                }
        }
}

Test(note, vkeys_of_another_form) {
        static const char *const rows[] = {
                "", "+", "++", "a", "a+", "a+00000000", "a+00000000+", "+00000000+AQ==", "a b+00000000+AQ==", "a+00000000+AQ==",
                "a\n+00000000+AQ==", "\xc3\xb6+00000000+AQ==", "a+0000000+AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char name[NOTE_NAME_MAX];
                uint8_t key[32];
                Diag d = {0};

                cr_expect_eq(note_vkey_parse(rows[i], name, key, &d), NOTE_E_FORM, "%s", rows[i]);
                cr_expect(*d.text, "%s", rows[i]);
        }
        cr_expect(note_name_valid("lethe/0123") && !note_name_valid("") && !note_name_valid("a+b") && !note_name_valid("a b") && !note_name_valid("a\x7f"));
}
