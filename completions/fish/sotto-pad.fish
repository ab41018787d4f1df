# fish completion of pad. Made by completions/generate.
complete -c sotto-pad -c pad -l remove -d 'Remove the padding'
complete -c sotto-pad -c pad -l report -d 'Print a JSON record for each scheme with the padding that it would add, and do not pad'
complete -c sotto-pad -c pad -l scheme -x -a 'bucket pow2 iso7816' -d 'bucket (the default): 64 to 65536 bytes, Padme above. pow2: the next power of two. iso7816: a multiple of --block, with the marker only'
complete -c sotto-pad -c pad -l block -x -d 'Block size of iso7816, in bytes. Default: 256'
complete -c sotto-pad -c pad -s o -l output -r -F -d 'Write to this file, which is created only when complete; `-` is stdout'
complete -c sotto-pad -c pad -l version -d 'Show the version'
complete -c sotto-pad -c pad -s h -l help -d 'Show help information'
