// Package tokens makes what package queue/token and the front gate have in common: JWTs of
// one kind, with the keys of a ring, and the passes of a trusted edge. Users see
// token.Entries and token.Pass, and the tokens of a gate only as texts.
package tokens
