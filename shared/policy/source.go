package policy

// Source is what a document was made from. Document makes an equal document from it.
type Source struct {
	Text     string // of the document; "" for the built-in policy
	Deployed Registration
	Halted   bool // see Document.Halted
}

// Source returns what the document was made from.
func (d *Document) Source() Source { return d.source }

// Document parses the source. It returns Faults if the text is not a valid policy.
func (s Source) Document() (*Document, error) {
	d := Default()
	if s.Text != "" {
		var err error
		if d, err = Parse([]byte(s.Text)); err != nil {
			return nil, err
		}
	}
	d = d.Deployed(s.Deployed)
	if s.Halted {
		d = d.Halted()
	}
	return d, nil
}
