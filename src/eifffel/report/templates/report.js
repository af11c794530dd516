"use strict";
(async () => {
  const views = {};
  for (const [name, spec] of Object.entries(charts)) {
    const result = await vegaEmbed("#chart-" + name, spec, { actions: false, renderer: "svg", ast: false });
    views[name] = result.view;
  }
  if (slider) {
    const input = document.getElementById("bound");
    const show = (place) => {
      const bound = slider.bounds[place];
      const cells = { ...slider.points[bound.point], bound: bound.text, met: bound.met_text };
      for (const element of document.querySelectorAll("[data-cell]")) {
        element.textContent = cells[element.dataset.cell];
      }
      input.value = place;
      input.setAttribute("aria-valuetext", bound.text);
      document.body.toggleAttribute("data-moved", place !== slider.start);
      views.tradeoff.signal("chosen", bound.point).signal("bound", bound.bound).run();
    };
    input.addEventListener("input", () => show(Number(input.value)));
    document.getElementById("reset").addEventListener("click", () => show(slider.start));
    // What is printed is of the bound that was asked for, wherever the slider was left.
    let left = null;
    const toPrint = () => {
      if (left === null) {
        left = Number(input.value);
        show(slider.start);
      }
    };
    const afterwards = () => {
      if (left !== null) {
        show(left);
        left = null;
      }
    };
    window.addEventListener("beforeprint", toPrint);
    window.addEventListener("afterprint", afterwards);
    window.matchMedia("print").addEventListener("change", (media) => (media.matches ? toPrint : afterwards)());
  }
  document.body.dataset.ready = "true";
})();
