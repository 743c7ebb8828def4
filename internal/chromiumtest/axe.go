package chromiumtest

import _ "embed"

// Axe is axe-core 4.14.1, which finds obstacles for people with disabilities, as
// npm pack axe-core@4.14.1 gives it, under the Mozilla Public License 2.0. It is part of
// tests only.
//
//go:embed axe/axe.min.js
var Axe string
