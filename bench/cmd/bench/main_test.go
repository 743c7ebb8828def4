package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	for only, want := range map[string]string{
		"":              "outbox,status,mariadb,kafka,batch,bus,limit,queue,streams",
		"kafka":         "kafka",
		"bus,outbox":    "outbox,bus",
		"status,status": "status",
	} {
		chosen, err := choose(sections(), only)
		if err != nil || names(chosen) != want {
			t.Errorf("-only %q: %s, %v; want %s", only, names(chosen), err, want)
		}
	}
	for _, only := range []string{"kafak", "kafka,", "outbox, bus"} {
		if _, err := choose(sections(), only); err == nil || !strings.Contains(err.Error(), "mariadb") {
			t.Errorf("-only %q: %v", only, err)
		}
	}
}

// Nothing runs when a later section could not.
func TestMissingServer(t *testing.T) {
	ran := 0
	s := func(name string, needs ...string) section {
		return section{name: name, needs: needs, run: func(context.Context, map[string]string, sizes, io.Writer) error { ran++; return nil }}
	}
	var out bytes.Buffer
	have := map[string]string{postgres: "postgres://"}
	err := runAll(t.Context(), []section{s("first", postgres), s("second", postgres, kafka)}, have, sizes{}, &out)
	if err == nil || !strings.Contains(err.Error(), kafka) || !strings.Contains(err.Error(), "second") || ran != 0 {
		t.Errorf("%v, %d sections ran", err, ran)
	}
	if err := runAll(t.Context(), []section{s("first", postgres)}, have, sizes{}, &out); err != nil || ran != 1 || !strings.Contains(out.String(), "== first") {
		t.Errorf("%v, %d sections ran, %q", err, ran, &out)
	}
}

func TestFailureNamesTheSection(t *testing.T) {
	broken := errors.New("broken")
	err := runAll(t.Context(), []section{{name: "first", run: func(context.Context, map[string]string, sizes, io.Writer) error { return broken }}}, nil, sizes{}, io.Discard)
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "first: ") {
		t.Errorf("%v", err)
	}
}
