package sqliteoutbox_test

import "testing"

func TestNamedTables(t *testing.T) { database.NamedTables(t) }

func TestNamedTablesErrors(t *testing.T) { database.NamedTablesErrors(t) }

func TestTwoPrefixes(t *testing.T) { database.TwoPrefixes(t) }
