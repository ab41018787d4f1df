// This target has no code. It depends on the programs of `make bench`, so that one `swift build` makes them.
