package traces

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
)

// target has the parts of a URL.
type target struct {
	endpoint string // without the parameters
	ratio    float64
}

// Check returns the mistake in the URL of a collector.
func Check(raw string) error {
	_, err := parse(raw)
	return err
}

func parse(raw string) (target, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return target{}, errors.New("it is malformed; write for example http://127.0.0.1:4318")
	case (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return target{}, errors.New("it is not an http:// or https:// URL; write for example http://127.0.0.1:4318")
	case u.User != nil:
		return target{}, errors.New("it has a user or a password; give headers by OTEL_EXPORTER_OTLP_HEADERS")
	}
	t := target{ratio: 1}
	params, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return target{}, errors.New("its parameters are malformed; the only one is ratio, from 0 to 1")
	}
	for name, values := range params {
		if name != "ratio" {
			return target{}, fmt.Errorf("unknown parameter %q; the only one is ratio", name)
		}
		if t.ratio, err = strconv.ParseFloat(values[0], 64); err != nil || len(values) > 1 || !(t.ratio >= 0 && t.ratio <= 1) {
			return target{}, errors.New("ratio is not one number from 0 to 1")
		}
	}
	u.RawQuery, u.Fragment = "", ""
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	t.endpoint = u.String()
	return t, nil
}
