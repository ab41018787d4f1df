// This target has no code. It depends on all programs that are installed, so that one `swift build` makes them.
