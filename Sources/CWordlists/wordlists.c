#include "wordlists.h"

// #embed is a part of C23.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const char chinese_simplified[] = {
#embed "lists/chinese_simplified.txt"
};
const struct wordlist wordlist_chinese_simplified = {chinese_simplified, sizeof chinese_simplified};

static const char chinese_traditional[] = {
#embed "lists/chinese_traditional.txt"
};
const struct wordlist wordlist_chinese_traditional = {chinese_traditional, sizeof chinese_traditional};

static const char czech[] = {
#embed "lists/czech.txt"
};
const struct wordlist wordlist_czech = {czech, sizeof czech};

static const char english[] = {
#embed "lists/english.txt"
};
const struct wordlist wordlist_english = {english, sizeof english};

static const char french[] = {
#embed "lists/french.txt"
};
const struct wordlist wordlist_french = {french, sizeof french};

static const char italian[] = {
#embed "lists/italian.txt"
};
const struct wordlist wordlist_italian = {italian, sizeof italian};

static const char japanese[] = {
#embed "lists/japanese.txt"
};
const struct wordlist wordlist_japanese = {japanese, sizeof japanese};

static const char korean[] = {
#embed "lists/korean.txt"
};
const struct wordlist wordlist_korean = {korean, sizeof korean};

static const char portuguese[] = {
#embed "lists/portuguese.txt"
};
const struct wordlist wordlist_portuguese = {portuguese, sizeof portuguese};

static const char spanish[] = {
#embed "lists/spanish.txt"
};
const struct wordlist wordlist_spanish = {spanish, sizeof spanish};
