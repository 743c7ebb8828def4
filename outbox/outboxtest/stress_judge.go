package outboxtest

import "testing"

// RunStress runs [Stress] as a test. It requires that events were published, some of them
// beside the unrelated transaction; that none is lost, uncommitted, published twice or out of
// order; and that the naive reader, if there is one, has lost some.
func RunStress(t testing.TB, cfg StressConfig) {
	t.Helper()
	r, err := Stress(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	if least := cfg.withDefaults().Events; r.Appended < least {
		t.Errorf("only %d events were appended, want %d", r.Appended, least)
	}
	if r.Lost+r.Uncommitted+r.Duplicated+r.Inverted != 0 {
		t.Errorf("want nothing lost, uncommitted, duplicated or inverted: %v", r)
	}
	if r.Beside == 0 {
		t.Error("nothing was published beside the unrelated transaction: something waited for it")
	}
	if r.NaiveLost == 0 {
		t.Error("the naive reader lost nothing: the run proves nothing")
	}
}
