#include <stddef.h>
#include <stdint.h>

// A character that can be mistaken for its prototype (UTS 39): `count` code points from `start` in the table's prototypes.
struct confusable {
    uint32_t scalar;
    uint16_t start;
    uint16_t count;
};

// The characters in ascending order: those that Normalization Form D does not change.
struct confusable_table {
    const struct confusable *entries;
    size_t count;
    const uint32_t *prototypes;
};

extern const struct confusable_table confusables;
