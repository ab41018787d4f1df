#include "CSottoJPEG.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    int has_no_end;
    uint8_t *pixels;
    uint8_t *row;
};

static void fail(j_common_ptr jpeg) {
    struct reader *reader = jpeg->client_data;
    reader->status = jpeg->err->msg_code == JERR_OUT_OF_MEMORY ? SOTTO_JPEG_NO_MEMORY
                                                               : SOTTO_JPEG_BROKEN;
    longjmp(reader->escape, 1);
}

/* libjpeg fills missing pixels with gray and warns. This handler reports them as an error. At the end of the data libjpeg
   adds the end marker, so data that ends within a scan also hits a marker. */
static void on_warning(j_common_ptr jpeg, int level) {
    if (level >= 0) return;
    switch (jpeg->err->msg_code) {
    case JWRN_JPEG_EOF:
        ((struct reader *)jpeg->client_data)->has_no_end = 1;
        return;
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

/* Converts inks to red, green and blue, without a colour profile. */
static void ink_to_rgb(const struct jpeg_decompress_struct *jpeg, const uint8_t *inks,
                       uint8_t *rgb) {
    for (size_t x = 0; x < jpeg->output_width; x++, inks += 4) {
        for (int part = 0; part < 3; part++) {
            unsigned ink = inks[part], key = inks[3];
            if (!jpeg->saw_Adobe_marker) {
                ink = 255 - ink;
                key = 255 - key;
            }
            *rgb++ = (uint8_t)(ink * key / 255);
        }
    }
}

/* Reads the header. Returns whether the colours are inks. */
static int read_header(struct reader *reader, const uint8_t *bytes, size_t count) {
    struct jpeg_decompress_struct *jpeg = &reader->jpeg;
    jpeg_create_decompress(jpeg);
    jpeg->client_data = reader;
    jpeg->progress = &reader->progress;
    jpeg_mem_src(jpeg, bytes, count);
    jpeg_read_header(jpeg, TRUE);
    return jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
}

/* Whether scans can be missing before the end of the data: all bits of each coefficient of a progressive file must have
   come, and arithmetic codes do not tell. */
static int lacks_scans(const struct jpeg_decompress_struct *jpeg) {
    if (jpeg->arith_code) return 1;
    if (!jpeg->progressive_mode) return 0;
    for (int part = 0; part < jpeg->num_components; part++)
        for (int place = 0; place < DCTSIZE2; place++)
            if (jpeg->coef_bits[part][place] != 0) return 1;
    return 0;
}

/* Decodes all rows into `pixels`, with `depth` bytes for each pixel: 1 or 3. */
static sotto_jpeg_status read_rows(struct reader *reader, int is_ink, int depth) {
    struct jpeg_decompress_struct *jpeg = &reader->jpeg;
    jpeg->out_color_space = is_ink ? JCS_CMYK : depth == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(jpeg);
    size_t width = jpeg->output_width;
    reader->pixels = malloc(width * jpeg->output_height * (size_t)depth);
    reader->row = malloc(width * 4);
    if (!reader->pixels || !reader->row) return SOTTO_JPEG_NO_MEMORY;
    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *line = reader->pixels + width * (size_t)depth * jpeg->output_scanline;
        JSAMPROW target = is_ink ? reader->row : line;
        jpeg_read_scanlines(jpeg, &target, 1);
        if (is_ink) (depth == 1 ? ink_to_gray : ink_to_rgb)(jpeg, reader->row, line);
    }
    /* What follows the last row is not read: telephones append other data, also without an end marker. */
    return reader->has_no_end && lacks_scans(jpeg) ? SOTTO_JPEG_BROKEN : SOTTO_JPEG_OK;
}

static struct reader *new_reader(void) {
    struct reader *reader = calloc(1, sizeof *reader);
    if (!reader) return NULL;
    reader->jpeg.err = jpeg_std_error(&reader->errors);
    reader->jpeg.client_data = reader;
    reader->jpeg.client_data = reader;
    reader->errors.error_exit = fail;
    reader->errors.emit_message = on_warning;
    reader->errors.output_message = ignore_message;
    reader->progress.progress_monitor = count_scans;
    return reader;
}

static void free_reader(struct reader *reader) {
    jpeg_destroy_decompress(&reader->jpeg);
    free(reader->row);
    free(reader);
}

static sotto_jpeg_status run(struct reader *reader, const uint8_t *bytes, size_t count,
                             uint64_t pixel_limit) {
    if (setjmp(reader->escape)) return reader->status;
    int is_ink = read_header(reader, bytes, count);
    struct jpeg_decompress_struct *jpeg = &reader->jpeg;
    if ((uint64_t)jpeg->image_width * jpeg->image_height > pixel_limit) return SOTTO_JPEG_TOO_LARGE;
    return read_rows(reader, is_ink, 1);
}

sotto_jpeg_status sotto_jpeg_read(const uint8_t *bytes, size_t count, uint64_t pixel_limit,
                                  uint8_t **gray, uint32_t *width, uint32_t *height) {
    struct reader *reader = new_reader();
    if (!reader) return SOTTO_JPEG_NO_MEMORY;
    sotto_jpeg_status status = run(reader, bytes, count, pixel_limit);
    if (status == SOTTO_JPEG_OK) {
        *gray = reader->pixels;
        *width = reader->jpeg.output_width;
        *height = reader->jpeg.output_height;
    } else {
        free(reader->pixels);
    }
    free_reader(reader);
    return status;
}

static sotto_jpeg_status run_small(struct reader *reader, const uint8_t *bytes, size_t count,
                                   uint32_t side, uint64_t pixel_limit,
                                   sotto_jpeg_picture *picture) {
    if (setjmp(reader->escape)) return reader->status;
    int is_ink = read_header(reader, bytes, count);
    struct jpeg_decompress_struct *jpeg = &reader->jpeg;
    picture->full_width = jpeg->image_width;
    picture->full_height = jpeg->image_height;
    JDIMENSION longer =
        jpeg->image_width > jpeg->image_height ? jpeg->image_width : jpeg->image_height;
    jpeg->scale_denom = 8;
    jpeg->scale_num = 8;
    while (jpeg->scale_num > 1 && (uint64_t)longer * (jpeg->scale_num - 1) / 8 >= side)
        jpeg->scale_num--;
    jpeg_calc_output_dimensions(jpeg);
    if ((uint64_t)jpeg->output_width * jpeg->output_height > pixel_limit)
        return SOTTO_JPEG_TOO_LARGE;
    return read_rows(reader, is_ink, 3);
}

sotto_jpeg_status sotto_jpeg_read_small(const uint8_t *bytes, size_t count, uint32_t side,
                                        uint64_t pixel_limit, sotto_jpeg_picture *picture) {
    struct reader *reader = new_reader();
    if (!reader) return SOTTO_JPEG_NO_MEMORY;
    sotto_jpeg_status status = run_small(reader, bytes, count, side, pixel_limit, picture);
    if (status == SOTTO_JPEG_OK) {
        picture->width = reader->jpeg.output_width;
        picture->height = reader->jpeg.output_height;
        picture->rgb = reader->pixels;
    } else {
        free(reader->pixels);
    }
    free_reader(reader);
    return status;
}

struct writer {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    jmp_buf escape;
    unsigned char *file;
    unsigned long length;
};

static void fail_writing(j_common_ptr jpeg) {
    longjmp(((struct writer *)jpeg->client_data)->escape, 1);
}

static int write_rows(struct writer *writer, const uint8_t *rgb, uint32_t width, uint32_t height,
                      int quality) {
    struct jpeg_compress_struct *jpeg = &writer->jpeg;
    if (setjmp(writer->escape)) return 0;
    jpeg_create_compress(jpeg);
    jpeg_mem_dest(jpeg, &writer->file, &writer->length);
    jpeg->image_width = width;
    jpeg->image_height = height;
    jpeg->input_components = 3;
    jpeg->in_color_space = JCS_RGB;
    jpeg_set_defaults(jpeg);
    jpeg_set_quality(jpeg, quality, TRUE);
    jpeg->optimize_coding = TRUE;
    jpeg_start_compress(jpeg, TRUE);
    while (jpeg->next_scanline < height) {
        JSAMPROW row = (JSAMPROW)(rgb + (size_t)width * 3 * jpeg->next_scanline);
        jpeg_write_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_compress(jpeg);
    return 1;
}

size_t sotto_jpeg_write(const uint8_t *rgb, uint32_t width, uint32_t height, int quality,
                        uint8_t *output, size_t capacity) {
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer) return 0;
    writer->jpeg.err = jpeg_std_error(&writer->errors);
    writer->jpeg.client_data = writer;
    writer->jpeg.client_data = writer;
    writer->errors.error_exit = fail_writing;
    writer->errors.output_message = ignore_message;
    size_t length = 0;
    if (write_rows(writer, rgb, width, height, quality) && writer->length <= capacity) {
        length = writer->length;
        memcpy(output, writer->file, length);
    }
    jpeg_destroy_compress(&writer->jpeg);
    free(writer->file);
    free(writer);
    return length;
}
