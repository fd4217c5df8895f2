module rollcall/tests/browser

go 1.26.3

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
	github.com/ledongthuc/pdf v0.0.0-20260907135840-6c8c28e0e8a0
)

require github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
