// What `relay-faults` uses too is in TestHarness, which does not need swift-testing: that program is linked statically.
@_exported public import TestHarness
