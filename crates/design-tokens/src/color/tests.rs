use super::*;

fn color(space: ColorSpace, components: [f64; 3]) -> Color {
    Color { space, components: components.map(Some), alpha: 1.0, hex: None }
}

fn nearest_hex(color: &Color) -> String {
    format_hex(color.to_srgb().map(to_byte))
}

/// Two colours, #3b82f6 and #b45309, in every space. The expected numbers were computed independently, from
/// the primaries, white points and transfer functions of CSS Color 4.
#[test]
fn every_color_space_converts_to_srgb() {
    for (space, blue, brown) in [
        (ColorSpace::Srgb, [0.231_373, 0.509_804, 0.964_706], [0.705_882, 0.325_490, 0.035_294]),
        (ColorSpace::SrgbLinear, [0.043_735, 0.223_228, 0.921_582], [0.456_411, 0.086_500, 0.002_732]),
        (ColorSpace::Hsl, [217.219_251, 91.219_512, 59.803_922], [25.964_912, 90.476_190, 37.058_824]),
        (ColorSpace::Hwb, [217.219_251, 23.137_255, 3.529_412], [25.964_912, 3.529_412, 29.411_765]),
        (ColorSpace::Lab, [54.618_923, 8.762_741, -65.790_659], [47.459_452, 37.772_241, 54.904_692]),
        (ColorSpace::Lch, [54.618_923, 66.371_654, 277.586_645], [47.459_452, 66.642_835, 55.473_578]),
        (ColorSpace::Oklab, [0.623_083, -0.033_248, -0.185_052], [0.555_283, 0.095_465, 0.109_810]),
        (ColorSpace::Oklch, [0.623_083, 0.188_015, 259.814_527], [0.555_283, 0.145_505, 48.997_530]),
        (ColorSpace::DisplayP3, [0.304_728, 0.503_473, 0.933_831], [0.658_189, 0.347_127, 0.136_005]),
        (ColorSpace::A98Rgb, [0.342_680, 0.505_675, 0.949_764], [0.621_250, 0.328_590, 0.098_979]),
        (ColorSpace::ProphotoRgb, [0.438_118, 0.436_876, 0.898_397], [0.483_667, 0.308_669, 0.114_565]),
        (ColorSpace::Rec2020, [0.355_766, 0.455_458, 0.920_160], [0.554_326, 0.309_682, 0.078_934]),
        (ColorSpace::XyzD65, [0.264_187, 0.235_477, 0.903_446], [0.219_644, 0.159_110, 0.021_730]),
        (ColorSpace::XyzD50, [0.236_906, 0.225_626, 0.680_381], [0.232_732, 0.163_725, 0.016_703]),
    ] {
        for (components, hex) in [(blue, "#3b82f6"), (brown, "#b45309")] {
            let (srgb, wanted) =
                (color(space, components).to_srgb(), Color::from_css(hex).unwrap().to_srgb());
            for (found, expected) in srgb.into_iter().zip(wanted) {
                assert!((found - expected).abs() < 0.001, "{} {hex}: {srgb:?}", space.as_str());
            }
            assert_eq!(nearest_hex(&color(space, components)), hex, "{}", space.as_str());
        }
    }
}

/// White maps to white in every space, and primaries within sRGB map to the expected values.
#[test]
fn known_colors_convert_exactly() {
    for (space, components, hex) in [
        (ColorSpace::A98Rgb, [1.0, 1.0, 1.0], "#ffffff"),
        (ColorSpace::A98Rgb, [0.858_59, 0.0, 0.0], "#ff0000"),
        (ColorSpace::ProphotoRgb, [1.0, 1.0, 1.0], "#ffffff"),
        (ColorSpace::ProphotoRgb, [0.702_24, 0.275_72, 0.103_55], "#ff0000"),
        (ColorSpace::Rec2020, [1.0, 1.0, 1.0], "#ffffff"),
        (ColorSpace::Rec2020, [0.791_98, 0.230_98, 0.073_76], "#ff0000"),
        (ColorSpace::DisplayP3, [0.917_49, 0.200_29, 0.138_56], "#ff0000"),
        (ColorSpace::XyzD50, [0.964_22, 1.0, 0.825_21], "#ffffff"),
        (ColorSpace::XyzD65, [0.950_46, 1.0, 1.089_06], "#ffffff"),
        (ColorSpace::Lab, [100.0, 0.0, 0.0], "#ffffff"),
        (ColorSpace::Oklab, [1.0, 0.0, 0.0], "#ffffff"),
        (ColorSpace::Oklab, [0.627_96, 0.224_86, 0.125_85], "#ff0000"),
        (ColorSpace::Hsl, [120.0, 100.0, 25.0], "#008000"),
        (ColorSpace::Hwb, [0.0, 50.0, 50.0], "#808080"),
        (ColorSpace::DisplayP3, [1.0, 0.0, 0.0], "#ff0000"), // Out of sRGB: clipped.
    ] {
        assert_eq!(nearest_hex(&color(space, components)), hex, "{} {components:?}", space.as_str());
    }
}

#[test]
fn css_colors_round_trip() {
    for (text, expected) in [
        ("#0AF", "#00aaff"),
        ("#00aaff80", "rgb(0 170 255 / 0.502)"),
        ("white", "#ffffff"),
        ("transparent", "rgb(0 0 0 / 0)"),
        ("rgba(255, 0, 0, .5)", "rgb(255 0 0 / 0.5)"),
        ("hsl(210 50% 40%)", "hsl(210 50% 40%)"),
        ("oklch(0.7 0.1 none / 0.25)", "oklch(0.7 0.1 none / 0.25)"),
        ("color(display-p3 1 0.5 0)", "color(display-p3 1 0.5 0)"),
        ("color(srgb 0.1 0.2222 0.3333)", "color(srgb 0.1 0.2222 0.3333)"),
        ("lab(50 -20 30.5)", "lab(50 -20 30.5)"),
        // Out-of-range values are clamped to the range of the format.
        ("hsl(380 50% 50%)", "hsl(20 50% 50%)"),
        ("hsl(-30 50% 50%)", "hsl(330 50% 50%)"),
        ("oklch(0.7 0.1 360)", "oklch(0.7 0.1 0)"),
        ("color(xyz 1.2 0 -1)", "color(xyz-d65 1 0 0)"),
        ("color(srgb 1.2 -0.5 0.1234)", "color(srgb 1 0 0.1234)"),
    ] {
        assert_eq!(Color::from_css(text).unwrap().to_css(), expected, "{text}");
    }
    for text in
        ["", "#12345", "blurple", "rgb(", "color(cmyk 0 0 0 0)", "var(--x)", "color(aces2065-1 1 1 1)"]
    {
        assert_eq!(Color::from_css(text), None, "{text}");
    }
}

#[test]
fn numbers_are_formatted_without_noise() {
    for (value, expected) in [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0 / 3.0, "0.333333"),
        (1e-7, "0.0000001"),
        (-1e-7, "-0.0000001"),
        (1e-20, "0"),
        (1e6, "1000000"),
    ] {
        assert_eq!(format_number(value), expected);
    }
}
