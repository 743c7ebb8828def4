// Package programtest finds the third-party programs that tests use: browsers, node, curl.
package programtest

import (
	"os"
	"os/exec"
	"testing"
)

// Find returns the path of a program.
func Find(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, err.Error())
	}
	return path
}

// Missing skips the test, or fails it where MILLRACE_REQUIRE_BROWSER is 1.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("MILLRACE_REQUIRE_BROWSER") == "1" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// Chromium returns the path of Chromium: the value of CHROMIUM, or else found in PATH.
func Chromium(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("CHROMIUM"); path != "" {
		found, err := exec.LookPath(path)
		if err != nil {
			t.Fatalf("CHROMIUM: %v", err)
		}
		return found
	}
	// The headless shell is Chromium without windows and their content: pages take half the
	// time.
	for _, name := range []string{"chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, "no browser: set CHROMIUM, or put chromium, chromium-browser, google-chrome or chrome in PATH")
	return ""
}
