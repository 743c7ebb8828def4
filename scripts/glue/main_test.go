package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The scripts of this tree are those of their parts.
func TestTree(t *testing.T) {
	require.NoError(t, run("../..", true))
}

func TestGlue(t *testing.T) {
	root := t.TempDir()
	parts := filepath.Join(root, "lua", "parts")
	require.NoError(t, os.MkdirAll(parts, 0o700))
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(parts, name), []byte(text), 0o600))
	}
	write("head.lua", "local ROOM, LIMIT = KEYS[1], 10 -- of a room\nlocal room = redis.call('GET', ROOM)\n")
	write("look.lua", "-- returns what ROOM has\nreturn {room, LIMIT} -- LIMIT\n")
	write("scripts.txt", "inline\nlook: head look\n")
	require.ErrorContains(t, run(root, true), "run go run ./scripts/glue")
	require.NoError(t, run(root, false))
	require.NoError(t, run(root, true))
	script, err := os.ReadFile(filepath.Join(root, "lua", "look.lua"))
	require.NoError(t, err)
	require.Equal(t, `-- Made by go run ./scripts/glue of head, look in parts. Edit those.
-- ROOM, LIMIT = KEYS[1], 10 -- of a room
local room = redis.call('GET', KEYS[1])
-- returns what ROOM has
return {room, 10} -- LIMIT
`, string(script))

	write("look.lua", "return room\n")
	require.ErrorContains(t, run(root, true), "look.lua is not that of its parts")
	write("scripts.txt", "look: head lok\n")
	require.ErrorContains(t, run(root, false), "lok.lua")
	write("scripts.txt", "look head\n")
	require.ErrorContains(t, run(root, false), `"look head" is neither`)
}
