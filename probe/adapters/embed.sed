# A text becomes lines of C strings.
s/[\\"]/\\&/g
s/.*/"&\\n"/
