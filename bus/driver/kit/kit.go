// Package kit has the parts that transports share: backoff, URLs with secrets, hints for TLS, a
// window of unacknowledged messages, and the acknowledged prefix of a partition.
//
// It is for authors of drivers; users of a transport do not need it. It follows the same rules
// of compatibility as the packages that users call: a driver that was built against one release
// builds against the later ones of its major version.
//
//	u, err := kit.ParseURL(raw) // no error shows a password
//	w := kit.NewWindow(cfg.MaxInFlight, wake)
//	err = kit.Sleep(ctx, kit.Backoff{Initial: time.Second}.Delay(attempt))
//
//	property                                                      proven by
//	delays grow up to their limit, jitter included                TestDelayGrows, TestDelayJitter
//	no error shows the URL; a host has a name and a port          TestParseErrors, TestHide, TestHosts
//	a signal is kept until it is received                         TestSignal
//	a window is never exceeded, and each partition has its part   TestWindow
//	a prefix ends before the first message that is not done       TestTracker
//	calls run at once, and no error is lost                       TestEach
//	metadata comes back as it was, or is refused                  FuzzMetadata, TestDecodeMetadata
//	transports that are modules import nothing internal of the
//	root's module                                                 TestModulesImportNothingInternal
package kit
