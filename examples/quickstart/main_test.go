package main

import (
	"path/filepath"
	"testing"
)

func TestQuickstart(t *testing.T) {
	if err := run(t.Context(), filepath.Join(t.TempDir(), "app.db")); err != nil {
		t.Fatal(err)
	}
}
