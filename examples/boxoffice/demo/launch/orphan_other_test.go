//go:build unix && !linux

package launch

// parentChild belongs to a test that only Linux can pass.
func parentChild() {}
