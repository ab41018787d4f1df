import Testing

/// The tests of the command line, one after another: a command under construction is global, because a program has one.
@Suite(.serialized) enum ArgumentTests {}
