# fish completion of pad. Made by completions/generate.
complete -c sotto-pad -c pad -l remove -d 'Undo the padding'
complete -c sotto-pad -c pad -l report -d 'Pad nothing: print a JSON record for each scheme, of what it would add'
complete -c sotto-pad -c pad -l scheme -x -a 'bucket pow2 iso7816' -d 'bucket (the default): 64 to 65536 bytes, Padme above. pow2: the next power of two. iso7816: a multiple of --block, its marker only'
complete -c sotto-pad -c pad -l block -x -d 'Block size of iso7816, in bytes. Default: 256'
complete -c sotto-pad -c pad -s o -l output -r -F -d 'Write to this file, whole or not at all; `-` is stdout'
complete -c sotto-pad -c pad -l version -d 'Show the version'
complete -c sotto-pad -c pad -s h -l help -d 'Show help information'
