package page

import (
	"fmt"
	"strings"
)

// colour is a colour of the page, named by its use, in light and in dark mode.
type colour struct{ name, light, dark string }

// palette has every colour of the page; page.css uses no other. Tests check the contrast of
// each pair that is used together.
var palette = []colour{
	{"paper", "#ffffff", "#13171d"},
	{"wash", "#f5f7f9", "#1a2028"}, // behind heads and code
	{"line", "#d8dde4", "#323b47"}, // between things
	{"grid", "#e6eaef", "#252d37"}, // behind charts
	{"ink", "#1a232e", "#e3e8ee"},
	{"soft", "#536070", "#a1adbb"}, // secondary text
	{"link", "#1b5fb0", "#82b4f2"},
	{"good", "#17784a", "#4fbf86"},
	{"warn", "#945300", "#e0a548"},
	{"bad", "#b3261e", "#ff8b80"},
	{"held", "#6546ad", "#b8a3f5"},
	{"idle", "#6d7b8c", "#8794a4"},     // starting, ended
	{"calm", "#4c9476", "#3f8a68"},     // ready: there is much of it
	{"fill", "#cfe6da", "#1f4435"},     // below the line of ready nodes
	{"lack", "#f6d5d1", "#5a2622"},     // nodes that are not ready
	{"band", "#f3ecd9", "#2e2a1d"},     // behind lanes
	{"bandline", "#a08446", "#a08a55"}, // beside a band
}

// declarations returns the palette as CSS custom properties. Print is always light.
func declarations() string {
	var light, dark strings.Builder
	for _, c := range palette {
		fmt.Fprintf(&light, "--%s:%s;", c.name, c.light)
		fmt.Fprintf(&dark, "--%s:%s;", c.name, c.dark)
	}
	return ":root{color-scheme:light dark;" + light.String() + "}\n@media screen and (prefers-color-scheme:dark){:root{" + dark.String() + "}}\n"
}
