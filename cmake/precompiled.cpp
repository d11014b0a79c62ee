// Nothing: a header that is precompiled belongs to a target, and that needs a source.
