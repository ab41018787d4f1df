// The values of the core are made of these.
@_exported public import SottoBytes
