// Picture writes a browser's screenshot of a page as a PNG file.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"os"

	"rollcall/tests/browser"
)

func main() {
	var v browser.View
	flag.Int64Var(&v.Width, "width", 1280, "width of the page")
	flag.Int64Var(&v.Height, "height", 800, "height of what is seen of it")
	flag.Float64Var(&v.Scale, "scale", 1, "pixels of the picture for each of the page")
	flag.BoolVar(&v.Dark, "dark", false, "as a reader sees it who likes dark pages")
	at := flag.String("at", "", "the selector of what is scrolled to first")
	unfold := flag.Bool("unfold", false, "with everything unfolded")
	print := flag.Bool("print", false, "as PDF, as it is printed")
	flag.Parse()
	if err := run(v, flag.Args(), *at, *unfold, *print); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(v browser.View, args []string, at string, unfold, print bool) error {
	if len(args) != 2 {
		return errors.New("usage: picture [flags] PAGE PICTURE")
	}
	ctx := context.Background()
	path, err := browser.Find(ctx, os.Getenv("CHROME") == "")
	if err != nil {
		return err
	}
	b, err := browser.Start(ctx, path)
	if err != nil {
		return err
	}
	defer b.Close()
	p, err := b.Open(args[0], v)
	if err != nil {
		return err
	}
	defer p.Close()
	if unfold {
		if _, err := browser.Ask[int](p, "unfold(), 0"); err != nil {
			return err
		}
	}
	if at != "" {
		if _, err := browser.Ask[int](p, fmt.Sprintf("document.querySelector(%q).scrollIntoView(), 0", at)); err != nil {
			return err
		}
	}
	picture := p.Picture
	if print {
		picture = p.Print
	}
	data, err := picture()
	if err != nil {
		return fmt.Errorf("picture of %s: %w", args[0], err)
	}
	if !print {
		if data, err = smaller(data); err != nil {
			return err
		}
	}
	return os.WriteFile(args[1], data, 0o644)
}

// smaller returns the same picture in fewer bytes: browsers compress for speed.
func smaller(data []byte) ([]byte, error) {
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, picture); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
