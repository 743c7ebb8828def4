package allbus

import (
	"log/slog"
	"reflect"
	"testing"

	"github.com/millrace-go/millrace/bus/sqlitebus"
)

// Each transport has the Logger, unless it has one of its own.
func TestLogger(t *testing.T) {
	shared, own := slog.New(slog.DiscardHandler), slog.New(slog.DiscardHandler)
	cfg := reflect.ValueOf(Config{Logger: shared, SQLite: sqlitebus.Config{Logger: own}}.withLogger())
	for i := range cfg.NumField() {
		of := cfg.Field(i)
		if of.Kind() != reflect.Struct {
			continue
		}
		want := shared
		if of.Type() == reflect.TypeFor[sqlitebus.Config]() {
			want = own
		}
		if got := of.FieldByName("Logger").Interface(); got != want {
			t.Errorf("%s has another Logger", cfg.Type().Field(i).Name)
		}
	}
}
