#include "CSottoJPEG.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>
#include <jerror.h>

/* A progressive file may repeat its scans without end, and each scan takes the time of the whole image. */
enum { MAXIMUM_SCANS = 100 };

struct reader {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    sotto_jpeg_status status;
    uint8_t *gray;
    uint8_t *row;
};

static void fail(j_common_ptr jpeg) {
    struct reader *reader = jpeg->client_data;
    reader->status = jpeg->err->msg_code == JERR_OUT_OF_MEMORY ? SOTTO_JPEG_NO_MEMORY
                                                               : SOTTO_JPEG_BROKEN;
    longjmp(reader->escape, 1);
}

/* libjpeg fills missing pixels with gray and warns. This handler reports them as an error. */
static void on_warning(j_common_ptr jpeg, int level) {
    if (level >= 0) return;
    switch (jpeg->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
        fail(jpeg);
    }
}

static void ignore_message(j_common_ptr jpeg) { (void)jpeg; }

static void count_scans(j_common_ptr jpeg) {
    if (((j_decompress_ptr)jpeg)->input_scan_number > MAXIMUM_SCANS) fail(jpeg);
}

/* Converts inks to gray, precisely enough to tell dark from light. Adobe stores the complement of each ink. */
static void ink_to_gray(const struct jpeg_decompress_struct *jpeg, const uint8_t *inks,
                        uint8_t *gray) {
    for (size_t x = 0; x < jpeg->output_width; x++, inks += 4) {
        unsigned sum = inks[0] + inks[1] + inks[2], key = inks[3];
        if (!jpeg->saw_Adobe_marker) {
            sum = 3 * 255 - sum;
            key = 255 - key;
        }
        gray[x] = (uint8_t)(sum * key / (3 * 255));
    }
}

static sotto_jpeg_status run(struct reader *reader, const uint8_t *bytes, size_t count,
                             uint64_t pixel_limit) {
    struct jpeg_decompress_struct *jpeg = &reader->jpeg;
    if (setjmp(reader->escape)) return reader->status;
    jpeg_create_decompress(jpeg);
    jpeg->client_data = reader;
    jpeg->progress = &reader->progress;
    jpeg_mem_src(jpeg, bytes, count);
    jpeg_read_header(jpeg, TRUE);
    if ((uint64_t)jpeg->image_width * jpeg->image_height > pixel_limit) return SOTTO_JPEG_TOO_LARGE;
    int is_ink = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
    jpeg->out_color_space = is_ink ? JCS_CMYK : JCS_GRAYSCALE;
    jpeg_start_decompress(jpeg);
    size_t width = jpeg->output_width;
    reader->gray = malloc(width * jpeg->output_height);
    reader->row = malloc(width * 4);
    if (!reader->gray || !reader->row) return SOTTO_JPEG_NO_MEMORY;
    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *line = reader->gray + width * jpeg->output_scanline;
        JSAMPROW target = is_ink ? reader->row : line;
        jpeg_read_scanlines(jpeg, &target, 1);
        if (is_ink) ink_to_gray(jpeg, reader->row, line);
    }
    jpeg_finish_decompress(jpeg);
    return SOTTO_JPEG_OK;
}

sotto_jpeg_status sotto_jpeg_read(const uint8_t *bytes, size_t count, uint64_t pixel_limit,
                                  uint8_t **gray, uint32_t *width, uint32_t *height) {
    struct reader *reader = calloc(1, sizeof *reader);
    if (!reader) return SOTTO_JPEG_NO_MEMORY;
    reader->jpeg.err = jpeg_std_error(&reader->errors);
    reader->jpeg.client_data = reader;
    reader->errors.error_exit = fail;
    reader->errors.emit_message = on_warning;
    reader->errors.output_message = ignore_message;
    reader->progress.progress_monitor = count_scans;
    sotto_jpeg_status status = run(reader, bytes, count, pixel_limit);
    if (status == SOTTO_JPEG_OK) {
        *gray = reader->gray;
        *width = reader->jpeg.output_width;
        *height = reader->jpeg.output_height;
    } else {
        free(reader->gray);
    }
    jpeg_destroy_decompress(&reader->jpeg);
    free(reader->row);
    free(reader);
    return status;
}
