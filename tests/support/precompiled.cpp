// Nothing: the header that is precompiled for the tests belongs to a target, and that needs a
// source.
