package archive_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist/archive"
)

func TestOpenRefuses(t *testing.T) {
	const secret = "hunter2-the-secret"
	for raw, says := range map[string]string{
		"":                                          "/folder",
		"artists":                                   "/folder",
		"file://artists":                            "file:///folder",
		"file:///artists?x=1":                       "unknown parameter",
		"ftp://artists":                             "known are: file, s3",
		"s3://":                                     "s3://bucket",
		"s3://A_B/x":                                "s3://bucket",
		"s3://ab":                                   "s3://bucket",
		"s3://bucket:80/x":                          "s3://bucket",
		"s3://bucket/a b":                           "the prefix",
		"s3://bucket/a/../b":                        "the prefix",
		"s3://bucket?regoin=x":                      "known are: endpoint, region, timeout",
		"s3://bucket?region=a/b":                    "region=eu-central-1",
		"s3://bucket?timeout=1ms":                   "10ms to 5m",
		"s3://bucket?timeout=x":                     "timeout",
		"s3://bucket?endpoint=host:9000":            "endpoint=http://host:port",
		"s3://bucket?endpoint=http://host/path":     "endpoint=http://host:port",
		"s3://key@bucket":                           "half of the credentials",
		"s3://:" + secret + "@bucket":               "half of the credentials",
		"s3://key:" + secret + "@BUCKET":            "s3://bucket",
		"s3://key:" + secret + "/x@bucket/y":        "",
		"s3://key:" + secret + "@bucket?endpoint=x": "endpoint=http://host:port",
		"s3://bucket?endpoint=http://key:" + secret + "@host": "endpoint=http://host:port",
	} {
		err := archive.Check(raw)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v; want it to say %q, and no secret", raw, err, says)
		}
		if _, again := archive.Open(t.Context(), raw); again == nil || again.Error() != err.Error() {
			t.Errorf("%s: Open says %v, Check %v", raw, again, err)
		}
	}
	for _, raw := range []string{"/folder", "file:///folder", "s3://bucket", "s3://my.bucket-1/a/b/?region=eu-central-1&timeout=1s", "s3://key:se%2Fcret@bucket?endpoint=https://minio:9000"} {
		assert.NoErrorf(t, archive.Check(raw), "%s", raw)
	}
}
