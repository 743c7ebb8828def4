//go:build race

package artist

const raced = true
