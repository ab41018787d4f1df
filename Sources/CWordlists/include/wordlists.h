#include <stddef.h>

// An official BIP 39 word list: 2048 words in order, in UTF-8 and Unicode NFKD, each followed by a line feed.
struct wordlist {
    const char *text;
    size_t size;
};

extern const struct wordlist wordlist_chinese_simplified;
extern const struct wordlist wordlist_chinese_traditional;
extern const struct wordlist wordlist_czech;
extern const struct wordlist wordlist_english;
extern const struct wordlist wordlist_french;
extern const struct wordlist wordlist_italian;
extern const struct wordlist wordlist_japanese;
extern const struct wordlist wordlist_korean;
extern const struct wordlist wordlist_portuguese;
extern const struct wordlist wordlist_spanish;
