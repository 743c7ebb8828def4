package config

import (
	"io"
	"strings"
	"testing"
)

// Any settings are accepted within their bounds, or refused without repeating a
// secret of theirs.
func FuzzParse(f *testing.F) {
	f.Add("BOXOFFICE_DB_URL", "postgres://u:s3cr3t-9q#@h/db")
	f.Add("BOXOFFICE_BUS_URL", "kafka://u:s3cr3t-9q@h")
	f.Add("BOXOFFICE_REDIS_URL", "redis://:12/s3cr3t-9q@h")
	f.Add("BOXOFFICE_NOTICE_URL", "s3cr3t-9q")
	f.Add("BOXOFFICE_GATEWAY_URL", "http://u:s3cr3t-9q@h:port")
	f.Add("BOXOFFICE_SECRET", "s3cr3t-9q")
	f.Add("BOXOFFICE_ADMIN_TOKEN", "s3cr3t-9q")
	f.Add("QUEUE_ENTRY_TOKEN_SECRET", "s3cr3t-9q,"+secret)
	f.Add("QUEUE_THRESHOLD", "-1")
	f.Add("BOXOFFICE_ROLES", "api,,all")
	f.Add("BOXOFFICE_ADDR", "[::1]:99999")
	var names []string
	for _, s := range new(Config).settings() {
		names = append(names, s.env)
	}
	f.Fuzz(func(t *testing.T, env, value string) {
		known := false
		for _, name := range names {
			known = known || name == env
		}
		c, err := Parse(nil, func(name string) string {
			if name == env {
				return value
			}
			return ""
		}, []string{"mem", "sqlite", "postgres", "kafka", "redis"}, io.Discard)
		if err != nil {
			// These values may be shown; the others hold secrets.
			open := env == "BOXOFFICE_ADDR" || env == "BOXOFFICE_ROLES" || env == "BOXOFFICE_STREAMS" || env == "BOXOFFICE_DATA_DIR" || env == "BOXOFFICE_WORKERS" || env == "BOXOFFICE_HOLD_SECONDS" || env == "BOXOFFICE_PAYMENT_SECONDS" || env == "BOXOFFICE_LEAVE_SECONDS" ||
				strings.HasPrefix(env, "QUEUE_") && env != "QUEUE_ENTRY_TOKEN_SECRET"
			if !known || !open && len(value) > 8 && strings.Contains(value, "s3cr3t-9q") && strings.Contains(err.Error(), "s3cr3t-9q") {
				t.Fatalf("%s=%q: %v", env, value, err)
			}
			return
		}
		if len(c.Roles) == 0 || c.Workers < 1 || c.Workers > MaxWorkers || c.Hold <= 0 || c.Queue.Threshold < 1 || c.Queue.Batch < 1 || len(c.RedisPrefix) > maxPrefix {
			t.Fatalf("%s=%q: %+v", env, value, c)
		}
		if env == "BOXOFFICE_SECRET" && value != "" && len(value) < 32 || env == "BOXOFFICE_ADMIN_TOKEN" && value != "" && len(value) < 16 {
			t.Fatalf("%s=%q is taken", env, value)
		}
	})
}
