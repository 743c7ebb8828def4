package config

import (
	"fmt"
	"strings"
	"testing"
)

// The requests of an address are limited, and a proxy has an address.
func TestDoor(t *testing.T) {
	c, err := parse(nil)
	if err != nil || c.Door.Rate != 20 || c.Door.Streams != 1000 || c.Door.Proxies != nil {
		t.Errorf("by default: %+v, %v", c.Door, err)
	}
	c, err = parse(map[string]string{"BOXOFFICE_ADDRESS_RATE": "0", "BOXOFFICE_ADDRESS_STREAMS": "3", "BOXOFFICE_TRUSTED_PROXIES": "127.0.0.1, 10.1.2.3/8,2001:db8::/32"})
	if got := fmt.Sprint(c.Door); err != nil || got != "{0 3 [127.0.0.1/32 10.0.0.0/8 2001:db8::/32]}" {
		t.Errorf("%s, %v", got, err)
	}
	for env, values := range map[string][]string{
		"BOXOFFICE_ADDRESS_RATE":    {"-1", "1000001", "many"},
		"BOXOFFICE_ADDRESS_STREAMS": {"0", "-1"},
		"BOXOFFICE_TRUSTED_PROXIES": {"proxy", "10.0.0.0/33", "10.0.0.1,", "0.0.0.0/0", "::/0", "10.0.0.1;10.0.0.2"},
	} {
		for _, value := range values {
			if _, err := parse(map[string]string{env: value}); err == nil || !strings.Contains(err.Error(), env) {
				t.Errorf("%s=%s: %v", env, value, err)
			}
		}
	}
}
